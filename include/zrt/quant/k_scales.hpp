// SPDX-License-Identifier: Apache-2.0
// zrt/quant/k_scales.hpp: the eight six-bit scales and offsets of Q4_K and Q5_K.
#pragma once

#include <zrt/quant/forms.hpp>

namespace zrt::inline ZRT_ABI::quant {

/// Unpacks twelve bytes. Runs 0..3 have their low six bits in bytes 0..3 (scale) and 4..7 (offset);
/// runs 4..7 have four bits in bytes 8..11 and two in the tops of the others.
constexpr void read_k_scales(const std::byte* bytes, Factors& f) noexcept {
  for (std::size_t j = 0; j < 4; ++j) {
    const auto a = std::to_integer<unsigned>(bytes[j]);
    const auto b = std::to_integer<unsigned>(bytes[j + 4]);
    const auto c = std::to_integer<unsigned>(bytes[j + 8]);
    f.scale[j] = static_cast<std::int8_t>(a & 63u);
    f.offset[j] = static_cast<std::int8_t>(b & 63u);
    f.scale[j + 4] = static_cast<std::int8_t>((c & 15u) | a >> 6 << 4);
    f.offset[j + 4] = static_cast<std::int8_t>(c >> 4 | b >> 6 << 4);
  }
}

/// The inverse of read_k_scales.
constexpr void store_k_scales(const Factors& f, std::byte* bytes) noexcept {
  for (std::size_t j = 0; j < 4; ++j) {
    const auto scale = static_cast<unsigned>(f.scale[j + 4]);
    const auto offset = static_cast<unsigned>(f.offset[j + 4]);
    bytes[j] = static_cast<std::byte>(static_cast<unsigned>(f.scale[j]) | scale >> 4 << 6);
    bytes[j + 4] = static_cast<std::byte>(static_cast<unsigned>(f.offset[j]) | offset >> 4 << 6);
    bytes[j + 8] = static_cast<std::byte>((scale & 15u) | (offset & 15u) << 4);
  }
}

/// What Q4_K and Q5_K share: a block of 256 in runs of 32 with value d·scale·q - dmin·offset.
///
/// The type supplies `unpack` and `pack`. The block begins with f16 d, f16 dmin and 12 bytes of scales.
template <DType kType> struct KOffsetLayout : BlockOfOffsetParts<kType, 32> {
  static constexpr std::int32_t kMostFactor = 63;

  static constexpr void factors(const std::byte* block, Factors& f) noexcept { read_k_scales(block + 4, f); }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept { store_k_scales(f, block + 4); }
};

}  // namespace zrt::inline ZRT_ABI::quant
