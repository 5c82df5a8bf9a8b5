// SPDX-License-Identifier: Apache-2.0
// zrt/quant/iq2_xxs.hpp: IQ2_XXS, 256 values in eights of a grid of 256 with signs by parity.
#pragma once

#include <zrt/quant/grid_entries.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, then 8 runs of 32: 4 entries of a grid of 256, and a word of four times 7 bits of signs and at the top
/// a scale s. The value is d / 8 · (2 s + 1) · the entry's.
///
/// Source: the GGUF file format, type 16.
template <> struct Layout<DType::iq2_xxs> : BlockOfParts<DType::iq2_xxs, 32> {
  static constexpr auto& kGrid = kIq2Xxs;
  static constexpr std::uint32_t kEach = 8;  // values of an entry
  static constexpr GridSigns kSigns = GridSigns::parity;
  static constexpr auto kLevels = signed_levels(kIq2Levels, kSigns);
  static constexpr std::int32_t kMostFactor = 31;
  static constexpr float kScaleUnit = 0.125f;

  static constexpr void factors(const std::byte* block, Factors& f) noexcept { odd_tops(block + 6, 8, f); }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t o = 0; o < 32; ++o) {
      const std::byte* run = block + 2 + 8 * (o / 4);
      const std::uint32_t signs = with_parity(read_u32(run + 4) >> 7 * (o % 4));
      put_eight(negate(kIq2Xxs[std::to_integer<unsigned>(run[o % 4])], signs), q + 8 * o);
    }
  }
  static constexpr void store_entry(std::byte* block, std::uint32_t at, unsigned entry) noexcept {
    block[2 + 8 * (at / 4) + at % 4] = static_cast<std::byte>(entry);
  }
  static constexpr void store_signs(std::byte* block, std::uint32_t o, unsigned signs) noexcept {
    put_bits(block + 6 + 8 * (o / 4), (signs & 127u) << 7 * (o % 4));
  }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept { store_odd_tops(f, block + 6, 8); }
};

static_assert(BlockLayout<Layout<DType::iq2_xxs>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
