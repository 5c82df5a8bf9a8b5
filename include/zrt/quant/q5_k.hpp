// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q5_k.hpp: Q5_K, 256 five-bit values in runs of 32 with six-bit scales and offsets.
#pragma once

#include <zrt/quant/k_scales.hpp>

namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, f16 dmin, 12 bytes of scales, 32 bytes of fifth bits, 128 bytes of low bits as in
/// Q4_K. Bit j of fifth-bit byte l belongs to value 32j + l.
///
/// Source: the GGUF file format, type 13.
template <> struct Layout<DType::q5_k> : KOffsetLayout<DType::q5_k> {
  using Integers = IntegerRange<0, 31>;

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t c = 0; c < 4; ++c)
      for (std::uint32_t l = 0; l < 32; ++l) {
        const auto byte = std::to_integer<unsigned>(block[48 + 32 * c + l]);
        const auto fifth = std::to_integer<unsigned>(block[16 + l]);
        q[64 * c + l] = static_cast<std::int8_t>((byte & 15u) + (fifth >> (2 * c) & 1u) * 16u);
        q[64 * c + 32 + l] = static_cast<std::int8_t>((byte >> 4) + (fifth >> (2 * c + 1) & 1u) * 16u);
      }
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    for (std::uint32_t c = 0; c < 4; ++c) join_halves(q + 64 * c, 32, block + 48 + 32 * c);
    for (std::uint32_t l = 0; l < 32; ++l) {
      unsigned fifths = 0;
      for (std::uint32_t j = 0; j < 8; ++j) fifths |= (static_cast<unsigned>(q[32 * j + l]) >> 4) << j;
      block[16 + l] = static_cast<std::byte>(fifths);
    }
  }
};

static_assert(OffsetLayout<Layout<DType::q5_k>>);

}  // namespace zrt::inline ZRT_ABI::quant
