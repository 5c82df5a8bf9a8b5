// SPDX-License-Identifier: Apache-2.0
// zrt/quant/grid_entries.hpp: entries of the grids of the IQ types, their signs and their odd factors.
#pragma once

#include <zrt/quant/forms.hpp>
#include <zrt/quant/grids.hpp>

#include <bit>

namespace zrt::inline ZRT_ABI::quant {

/// Writes the eight values of an entry.
constexpr void put_eight(const std::int8_t* levels, std::uint32_t entry, std::int8_t* q) noexcept {
  for (std::uint32_t i = 0; i < 8; ++i) q[i] = levels[entry >> 2 * i & 3u];
}
/// Writes the four values of an entry.
constexpr void put_four(const std::int8_t* levels, std::uint32_t entry, std::int8_t* q) noexcept {
  for (std::uint32_t i = 0; i < 4; ++i) q[i] = levels[entry >> 3 * i & 7u];
}
/// Writes the eight values of a ternary entry plus an eighth, or less one, in eighths.
constexpr void put_eighths(std::uint32_t index, bool less, std::int8_t* q) noexcept {
  put_eight(kIq1Levels, kIq1Grid[index], q);
  for (std::uint32_t i = 0; i < 8; ++i) q[i] = static_cast<std::int8_t>(8 * q[i] + (less ? -1 : 1));
}

/// The eight signs of which seven bits are stored: the number of negative values is even.
[[nodiscard]] constexpr std::uint32_t with_parity(std::uint32_t word) noexcept {
  const std::uint32_t seven = word & 127u;
  return seven | static_cast<std::uint32_t>(std::popcount(seven) & 1) << 7;
}
/// Negates those of eight values whose bit is set.
constexpr void negate(std::uint32_t signs, std::int8_t* q) noexcept {
  for (std::uint32_t i = 0; i < 8; ++i) q[i] = static_cast<std::int8_t>((signs >> i & 1u) != 0 ? -q[i] : q[i]);
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
