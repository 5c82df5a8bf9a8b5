// SPDX-License-Identifier: Apache-2.0
// zrt/quant/iq1_m.hpp: IQ1_M, 256 ternary values in eights of a grid of 2048, moved by an eighth each.
#pragma once

#include <zrt/quant/grid_entries.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: 32 low bytes of entries, 32 halves of 3 top bits and a sign, 4 words of four times a scale s of 3 bits and a
/// quarter of f16 d, the lowest first. The value is that of IQ1_S, with a scale for every 16 and a sign for every
/// eight.
///
/// Source: the GGUF file format, type 29.
template <> struct Layout<DType::iq1_m> : BlockOfParts<DType::iq1_m, 16> {
  static constexpr auto& kGrid = kIq1;
  static constexpr std::uint32_t kEach = 8;  // values of an entry
  static constexpr GridSigns kSigns = GridSigns::moved;
  static constexpr auto kLevels = signed_levels(kIq1Levels, kSigns);
  static constexpr std::int32_t kMostFactor = 15;

  static constexpr float scale(const std::byte* block, std::uint32_t) noexcept { return read_scale(block + 48); }
  static constexpr void factors(const std::byte* block, Factors& f) noexcept {
    for (std::uint32_t j = 0; j < 16; ++j)
      f.scale[j] = static_cast<std::int8_t>(2 * (read_u16(block + 48 + 2 * (j / 4)) >> 3 * (j % 4) & 7) + 1);
  }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t o = 0; o < 32; ++o) {
      const unsigned half = half_at(block + 32, o);
      put_eighths(std::to_integer<unsigned>(block[o]) | (half & 7u) << 8, half >> 3 != 0, q + 8 * o);
    }
  }
  static constexpr void store_entry(std::byte* block, std::uint32_t at, unsigned entry) noexcept {
    block[at] = static_cast<std::byte>(entry & 255u);
    put_half(block + 32, at, entry >> 8);
  }
  static constexpr void store_signs(std::byte* block, std::uint32_t o, unsigned signs) noexcept {
    put_half(block + 32, o, signs != 0 ? 8u : 0u);
  }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept {
    for (std::uint32_t j = 0; j < 16; ++j) put_word(block, j / 4, half_of_odd(f.scale[j]) << 3 * (j % 4));
  }
  /// The f16 lies in the tops of four words, which are zero there.
  static constexpr void store_scale(std::byte* block, std::uint32_t, float d) noexcept {
    std::byte bits[2];
    store_f16(bits, d * 8.0f);
    for (std::uint32_t i = 0; i < 4; ++i)
      put_word(block, i, (static_cast<unsigned>(read_u16(bits)) >> 4 * i & 15u) << 12);
  }

 private:
  static constexpr void put_word(std::byte* block, std::uint32_t word, unsigned bits) noexcept {
    std::byte* to = block + 48 + 2 * word;
    write_little<std::uint16_t>(to, static_cast<std::uint16_t>(read_u16(to) | bits));
  }
  static constexpr float read_scale(const std::byte* words) noexcept {
    unsigned bits = 0;
    for (std::uint32_t i = 0; i < 4; ++i) bits |= static_cast<unsigned>(read_u16(words + 2 * i)) >> 12 << 4 * i;
    return to_f32(Half{static_cast<std::uint16_t>(bits)}) * 0.125f;
  }
};

static_assert(BlockLayout<Layout<DType::iq1_m>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
