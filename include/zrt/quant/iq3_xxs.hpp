// SPDX-License-Identifier: Apache-2.0
// zrt/quant/iq3_xxs.hpp: IQ3_XXS, 256 values in fours of a grid of 256 with signs by parity.
#pragma once

#include <zrt/quant/grid_entries.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, 64 entries, then 8 words of four times 7 bits of signs and at the top a scale s. The value is
/// d / 4 · (2 s + 1) · the entry's.
///
/// Source: the GGUF file format, type 18.
template <> struct Layout<DType::iq3_xxs> : BlockOfParts<DType::iq3_xxs, 32> {
  static constexpr auto& kGrid = kIq3Xxs;
  static constexpr std::uint32_t kEach = 4;  // values of an entry
  static constexpr GridSigns kSigns = GridSigns::parity;
  static constexpr auto kLevels = signed_levels(kIq3XxsLevels, kSigns);
  static constexpr std::int32_t kMostFactor = 31;
  static constexpr float kScaleUnit = 0.25f;

  static constexpr void factors(const std::byte* block, Factors& f) noexcept { odd_tops(block + 66, 4, f); }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t o = 0; o < 32; ++o) {
      const std::uint64_t first = kIq3Xxs[std::to_integer<unsigned>(block[2 + 2 * o])];
      const std::uint64_t second = kIq3Xxs[std::to_integer<unsigned>(block[3 + 2 * o])];
      const std::uint32_t signs = with_parity(read_u32(block + 66 + 4 * (o / 4)) >> 7 * (o % 4));
      put_eight(negate(first | second << 32, signs), q + 8 * o);
    }
  }
  static constexpr void store_entry(std::byte* block, std::uint32_t at, unsigned entry) noexcept {
    block[2 + at] = static_cast<std::byte>(entry);
  }
  static constexpr void store_signs(std::byte* block, std::uint32_t o, unsigned signs) noexcept {
    put_bits(block + 66 + 4 * (o / 4), (signs & 127u) << 7 * (o % 4));
  }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept { store_odd_tops(f, block + 66, 4); }
};

static_assert(BlockLayout<Layout<DType::iq3_xxs>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
