// SPDX-License-Identifier: Apache-2.0
// zrt/quant/grid_entries.hpp: entries of the grids of the IQ types, their signs and their odd factors.
#pragma once

#include <zrt/quant/forms.hpp>
#include <zrt/quant/grids.hpp>

#include <array>
#include <bit>

namespace zrt::inline ZRT_ABI::quant {

/// A grid with each entry as eight or four bytes, lowest first: the levels that its digits of `bits` count.
template <std::size_t kEntries>
[[nodiscard]] constexpr std::array<std::uint64_t, kEntries> as_bytes(const std::uint16_t (&grid)[kEntries],
                                                                     const std::int8_t* levels, std::uint32_t bits) {
  std::array<std::uint64_t, kEntries> entries{};
  for (std::size_t i = 0; i < kEntries; ++i)
    for (std::uint32_t k = 0; k < (bits == 2 ? 8 : 4); ++k)
      entries[i] |= std::uint64_t{static_cast<std::uint8_t>(levels[grid[i] >> bits * k & ((1u << bits) - 1)])} << 8 * k;
  return entries;
}
inline constexpr auto kIq2Xxs = as_bytes(kIq2XxsGrid, kIq2Levels, 2);
inline constexpr auto kIq2Xs = as_bytes(kIq2XsGrid, kIq2Levels, 2);
inline constexpr auto kIq2S = as_bytes(kIq2SGrid, kIq2Levels, 2);
inline constexpr auto kIq3Xxs = as_bytes(kIq3XxsGrid, kIq3XxsLevels, 3);
inline constexpr auto kIq3S = as_bytes(kIq3SGrid, kIq3SLevels, 3);
/// In eighths, plus one eighth.
inline constexpr auto kIq1 = [] {
  std::int8_t eighths[3]{};
  for (std::size_t i = 0; i < 3; ++i) eighths[i] = static_cast<std::int8_t>(8 * kIq1Levels[i] + 1);
  return as_bytes(kIq1Grid, eighths, 2);
}();

/// Writes eight bytes.
constexpr void put_eight(std::uint64_t bytes, std::int8_t* q) noexcept {
  for (std::uint32_t i = 0; i < 8; ++i) q[i] = static_cast<std::int8_t>(bytes >> 8 * i & 255u);
}
/// The eight signs of which seven bits are stored: the number of negative values is even.
[[nodiscard]] constexpr std::uint32_t with_parity(std::uint32_t word) noexcept {
  const std::uint32_t seven = word & 127u;
  return seven | static_cast<std::uint32_t>(std::popcount(seven) & 1) << 7;
}
/// Negates those of eight bytes whose bit is set; no byte is 0, so that nothing is carried into the next.
[[nodiscard]] constexpr std::uint64_t negate(std::uint64_t bytes, std::uint32_t signs) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t bits = signs * kOnes & 0x8040201008040201;
  const std::uint64_t set = ((bits + (kOnes * 127)) | bits) >> 7 & kOnes;
  return (bytes ^ set * 255) + set;
}

/// Writes a ternary entry in eighths, plus one eighth, or less one where `less` is set.
constexpr void put_eighths(std::uint32_t index, bool less, std::int8_t* q) noexcept {
  put_eight(kIq1[index], q);
  for (std::uint32_t i = 0; i < 8; ++i) q[i] = static_cast<std::int8_t>(q[i] - (less ? 2 : 0));
}

/// How the values of a grid get their signs.
enum class GridSigns : std::uint8_t {
  free,    ///< a bit for each value
  parity,  ///< seven bits for eight values, of which an even number is negative
  moved,   ///< entries are ternary, and a bit moves them by an eighth down, else up
};

/// All values that entries of these levels have with their signs, with zeros up to sixteen.
template <std::size_t kCount>
[[nodiscard]] consteval std::array<std::int8_t, 16> signed_levels(const std::int8_t (&levels)[kCount],
                                                                  GridSigns signs) noexcept {
  std::array<std::int8_t, 16> all{};
  for (std::size_t i = 0; i < kCount; ++i) {
    const int level = levels[i];
    all[2 * i] = static_cast<std::int8_t>(signs == GridSigns::moved ? 8 * level + 1 : level);
    all[2 * i + 1] = static_cast<std::int8_t>(signs == GridSigns::moved ? 8 * level - 1 : -level);
  }
  return all;
}

/// The scale s of an odd factor 2 s + 1.
[[nodiscard]] constexpr unsigned half_of_odd(std::int8_t factor) noexcept {
  return static_cast<unsigned>(factor - 1) / 2;
}
/// The inverse of odd_factors, where the halves are zero.
constexpr void store_odd_factors(const Factors& f, std::uint32_t count, std::byte* halves) noexcept {
  for (std::uint32_t j = 0; j < count; ++j) put_half(halves, j, half_of_odd(f.scale[j]));
}
/// Stores bits of a word of four bytes that are zero there.
constexpr void put_bits(std::byte* word, std::uint32_t bits) noexcept {
  write_little<std::uint32_t>(word, read_u32(word) | bits);
}
/// The inverse of odd_tops, where the tops are zero.
constexpr void store_odd_tops(const Factors& f, std::byte* words, std::uint32_t stride) noexcept {
  for (std::uint32_t j = 0; j < 8; ++j) put_bits(words + stride * j, half_of_odd(f.scale[j]) << 28);
}

/// Factors 2 s + 1 of `count` scales s in halves.
constexpr void odd_factors(const std::byte* halves, std::uint32_t count, Factors& f) noexcept {
  for (std::uint32_t j = 0; j < count; ++j) f.scale[j] = static_cast<std::int8_t>(2 * half_at(halves, j) + 1);
}
/// Factors 2 s + 1 of eight scales s in the top four bits of words that lie `stride` bytes apart.
constexpr void odd_tops(const std::byte* words, std::uint32_t stride, Factors& f) noexcept {
  for (std::uint32_t j = 0; j < 8; ++j)
    f.scale[j] = static_cast<std::int8_t>(2 * (read_u32(words + stride * j) >> 28) + 1);
}

}  // namespace zrt::inline ZRT_ABI::quant
