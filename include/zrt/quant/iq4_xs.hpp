// SPDX-License-Identifier: Apache-2.0
// zrt/quant/iq4_xs.hpp: IQ4_XS, 256 values of a codebook of 16 in runs of 32 with six-bit scales.
#pragma once

#include <zrt/quant/codebooks.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, 2 bytes with the top pairs of the eight scales, 4 bytes with their low halves, then 8 runs of 16 bytes
/// of halves as in Q4_0. The value of a half h is d·(scale - 32)·kIq4Levels[h].
///
/// Source: the GGUF file format, type 23.
template <> struct Layout<DType::iq4_xs> : BlockOfParts<DType::iq4_xs, 32> {
  using Integers = IntegerSet<kIq4Levels>;
  static constexpr std::int32_t kLeastFactor = -32;
  static constexpr std::int32_t kMostFactor = 31;

  static constexpr void factors(const std::byte* block, Factors& f) noexcept {
    for (std::uint32_t j = 0; j < 8; ++j) {
      const unsigned top = static_cast<unsigned>(read_u16(block + 2)) >> 2 * j & 3u;
      f.scale[j] = static_cast<std::int8_t>(static_cast<int>(half_at(block + 4, j) | top << 4) - 32);
    }
  }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t j = 0; j < 8; ++j) look_up_halves(kIq4Levels, block + 8 + 16 * j, 16, q + 32 * j);
  }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept {
    unsigned top = 0;
    for (std::uint32_t j = 0; j < 8; ++j) {
      const auto stored = static_cast<unsigned>(f.scale[j] + 32);
      top |= (stored >> 4) << 2 * j;
      const unsigned low = (stored & 15u) << j % 2 * 4;
      block[4 + j / 2] = static_cast<std::byte>(j % 2 == 0 ? low : low | std::to_integer<unsigned>(block[4 + j / 2]));
    }
    write_little<std::uint16_t>(block + 2, static_cast<std::uint16_t>(top));
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    for (std::uint32_t j = 0; j < 8; ++j) find_halves<Integers>(q + 32 * j, 16, block + 8 + 16 * j);
  }
};

static_assert(BlockLayout<Layout<DType::iq4_xs>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
