// SPDX-License-Identifier: Apache-2.0
// zrt/core/little_endian.hpp: little-endian words in memory of any alignment.
#pragma once

#include <zrt/core/config.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace zrt::inline ZRT_ABI {

/// Reads the `sizeof(T)` bytes at `from` as a little-endian word.
template <std::unsigned_integral T> [[nodiscard]] constexpr T read_little(const std::byte* from) noexcept {
  if (std::endian::native == std::endian::little && !std::is_constant_evaluated()) {
    T word{};
    std::memcpy(&word, from, sizeof word);
    return word;
  }
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) word |= std::to_integer<std::uint64_t>(from[i]) << 8 * i;
  return static_cast<T>(word);
}

/// Writes `word` to the `sizeof(T)` bytes at `to`, its low byte first.
template <std::unsigned_integral T> constexpr void write_little(std::byte* to, T word) noexcept {
  if (std::endian::native == std::endian::little && !std::is_constant_evaluated()) {
    std::memcpy(to, &word, sizeof word);
    return;
  }
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(std::uint64_t{word} >> 8 * i & 0xffu);
}

}  // namespace zrt::inline ZRT_ABI
