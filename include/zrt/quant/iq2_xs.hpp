// SPDX-License-Identifier: Apache-2.0
// zrt/quant/iq2_xs.hpp: IQ2_XS, 256 values in eights of a grid of 512 with signs by parity.
#pragma once

#include <zrt/quant/grid_entries.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, 32 words of 9 bits of entry and 7 bits of signs, 16 scales s in halves. The value is
/// d / 8 · (2 s + 1) · the entry's.
///
/// Source: the GGUF file format, type 17.
template <> struct Layout<DType::iq2_xs> : BlockOfParts<DType::iq2_xs, 16> {
  static constexpr auto& kGrid = kIq2Xs;
  static constexpr std::uint32_t kEach = 8;  // values of an entry
  static constexpr GridSigns kSigns = GridSigns::parity;
  static constexpr auto kLevels = signed_levels(kIq2Levels, kSigns);
  static constexpr std::int32_t kMostFactor = 31;
  static constexpr float kScaleUnit = 0.125f;

  static constexpr void factors(const std::byte* block, Factors& f) noexcept { odd_factors(block + 66, 16, f); }

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t o = 0; o < 32; ++o) {
      const unsigned word = read_u16(block + 2 + 2 * o);
      put_eight(negate(kIq2Xs[word & 511u], with_parity(word >> 9)), q + 8 * o);
    }
  }
  static constexpr void store_entry(std::byte* block, std::uint32_t at, unsigned entry) noexcept {
    block[2 + 2 * at] = static_cast<std::byte>(entry & 255u);
    block[3 + 2 * at] |= static_cast<std::byte>(entry >> 8);
  }
  static constexpr void store_signs(std::byte* block, std::uint32_t o, unsigned signs) noexcept {
    block[3 + 2 * o] |= static_cast<std::byte>((signs & 127u) << 1);
  }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept {
    store_odd_factors(f, 16, block + 66);
  }
};

static_assert(BlockLayout<Layout<DType::iq2_xs>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
