// SPDX-License-Identifier: Apache-2.0
// zrt/quant/iq1_s.hpp: IQ1_S, 256 ternary values in eights of a grid of 2048, moved by an eighth.
#pragma once

#include <zrt/quant/grid_entries.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, 32 low bytes of entries, then for each of 8 runs a word of four times 3 top bits, a scale s of 3 bits
/// and a sign. The value is d · (2 s + 1) · (the entry's + 1/8), or - 1/8 with the sign; the integers are eighths.
///
/// Source: the GGUF file format, type 19.
template <> struct Layout<DType::iq1_s> : BlockOfParts<DType::iq1_s, 32> {
  static constexpr auto& kGrid = kIq1;
  static constexpr std::uint32_t kEach = 8;  // values of an entry
  static constexpr GridSigns kSigns = GridSigns::moved;
  static constexpr auto kLevels = signed_levels(kIq1Levels, kSigns);
  static constexpr std::int32_t kMostFactor = 15;
  static constexpr float kScaleUnit = 0.125f;

  static constexpr void factors(const std::byte* block, Factors& f) noexcept {
    for (std::uint32_t j = 0; j < 8; ++j)
      f.scale[j] = static_cast<std::int8_t>(2 * (read_u16(block + 34 + 2 * j) >> 12 & 7) + 1);
  }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t o = 0; o < 32; ++o) {
      const unsigned word = read_u16(block + 34 + 2 * (o / 4));
      put_eighths(std::to_integer<unsigned>(block[2 + o]) | (word >> 3 * (o % 4) & 7u) << 8, word >> 15 != 0,
                  q + 8 * o);
    }
  }
  static constexpr void store_entry(std::byte* block, std::uint32_t at, unsigned entry) noexcept {
    block[2 + at] = static_cast<std::byte>(entry & 255u);
    put_word(block, at / 4, (entry >> 8) << 3 * (at % 4));
  }
  /// All four entries of a run move together.
  static constexpr void store_signs(std::byte* block, std::uint32_t o, unsigned signs) noexcept {
    put_word(block, o / 4, signs != 0 ? 0x8000u : 0u);
  }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept {
    for (std::uint32_t j = 0; j < 8; ++j) put_word(block, j, half_of_odd(f.scale[j]) << 12);
  }

 private:
  static constexpr void put_word(std::byte* block, std::uint32_t run, unsigned bits) noexcept {
    std::byte* word = block + 34 + 2 * run;
    write_little<std::uint16_t>(word, static_cast<std::uint16_t>(read_u16(word) | bits));
  }
};

static_assert(BlockLayout<Layout<DType::iq1_s>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
