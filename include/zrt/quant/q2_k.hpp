// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q2_k.hpp: Q2_K, 256 two-bit values in runs of 16 with four-bit scales and offsets.
#pragma once

#include <zrt/quant/forms.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: 16 bytes, whose low halves are scales and whose high halves are offsets; 64 bytes of pairs; f16 d, f16 dmin.
/// The value is d·scale·q - dmin·offset.
///
/// Source: the GGUF file format, type 10.
template <> struct Layout<DType::q2_k> : BlockOfOffsetParts<DType::q2_k, 16> {
  using Integers = IntegerRange<0, 3>;
  static constexpr std::uint32_t kScaleAt = 80;
  static constexpr std::uint32_t kOffsetAt = 82;
  static constexpr std::int32_t kMostFactor = 15;

  static constexpr void factors(const std::byte* block, Factors& f) noexcept {
    for (std::uint32_t j = 0; j < 16; ++j) {
      const auto byte = std::to_integer<unsigned>(block[j]);
      f.scale[j] = static_cast<std::int8_t>(byte & 15u);
      f.offset[j] = static_cast<std::int8_t>(byte >> 4);
    }
  }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept { unpack_pairs(block + 16, q); }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept {
    for (std::uint32_t j = 0; j < 16; ++j) block[j] = static_cast<std::byte>(f.scale[j] | f.offset[j] << 4);
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept { pack_pairs(q, block + 16); }
};

static_assert(OffsetLayout<Layout<DType::q2_k>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
