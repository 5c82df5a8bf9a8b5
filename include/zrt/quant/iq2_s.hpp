// SPDX-License-Identifier: Apache-2.0
// zrt/quant/iq2_s.hpp: IQ2_S, 256 values in eights of a grid of 1024 with signs.
#pragma once

#include <zrt/quant/grid_entries.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, 32 low bytes of entries, 32 bytes of signs, 8 bytes of the entries' top pairs, 16 scales s in halves.
/// The value is d / 8 · (2 s + 1) · the entry's.
///
/// Source: the GGUF file format, type 22.
template <> struct Layout<DType::iq2_s> : BlockOfParts<DType::iq2_s, 16> {
  static constexpr auto& kGrid = kIq2S;
  static constexpr std::uint32_t kEach = 8;  // values of an entry
  static constexpr GridSigns kSigns = GridSigns::free;
  static constexpr auto kLevels = signed_levels(kIq2Levels, kSigns);
  static constexpr std::int32_t kMostFactor = 31;
  static constexpr float kScaleUnit = 0.125f;

  static constexpr void factors(const std::byte* block, Factors& f) noexcept { odd_factors(block + 74, 16, f); }

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t o = 0; o < 32; ++o) {
      const unsigned top = std::to_integer<unsigned>(block[66 + o / 4]) >> 2 * (o % 4) & 3u;
      const unsigned entry = std::to_integer<unsigned>(block[2 + o]) | top << 8;
      put_eight(negate(kIq2S[entry], std::to_integer<unsigned>(block[34 + o])), q + 8 * o);
    }
  }
  static constexpr void store_entry(std::byte* block, std::uint32_t at, unsigned entry) noexcept {
    block[2 + at] = static_cast<std::byte>(entry & 255u);
    block[66 + at / 4] |= static_cast<std::byte>((entry >> 8) << 2 * (at % 4));
  }
  static constexpr void store_signs(std::byte* block, std::uint32_t o, unsigned signs) noexcept {
    block[34 + o] = static_cast<std::byte>(signs);
  }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept {
    store_odd_factors(f, 16, block + 74);
  }
};

static_assert(BlockLayout<Layout<DType::iq2_s>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
