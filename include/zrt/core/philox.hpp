// SPDX-License-Identifier: Apache-2.0
// zrt/core/philox.hpp: the Philox4x32-10 counter-based random number generator.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <cstdint>

namespace zrt::inline ZRT_ABI {

inline constexpr int kPhiloxRounds = 10;

/// One of Philox's rounds; the key advances between two.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox_round(const std::array<std::uint32_t, 4>& counter,
                                                                  const std::array<std::uint32_t, 2>& key) noexcept {
  const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
  const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
  return {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
}
[[nodiscard]] constexpr std::array<std::uint32_t, 2> philox_advance(const std::array<std::uint32_t, 2>& key) noexcept {
  return {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
}

/// Four random words for a 128-bit counter under a 64-bit key: no state, so order never matters.
///
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                                std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < kPhiloxRounds; ++round, key = philox_advance(key)) counter = philox_round(counter, key);
  return counter;
}

/// The upper 24 bits of a word as a number in [0, 1).
[[nodiscard]] constexpr float unit_interval(std::uint32_t word) noexcept {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

// Known answers of the authors' reference: counter and key all zero, then all ones. Word by word, because GCC 12
// does not compare whole arrays at compile time under -D_GLIBCXX_DEBUG.
namespace detail {
[[nodiscard]] constexpr bool philox_gives(std::uint32_t every_word, std::array<std::uint32_t, 4> expected) noexcept {
  const auto found = philox4x32({every_word, every_word, every_word, every_word}, {every_word, every_word});
  for (std::size_t i = 0; i < 4; ++i)
    if (found[i] != expected[i]) return false;
  return true;
}
}  // namespace detail
static_assert(detail::philox_gives(0, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
static_assert(detail::philox_gives(~0u, {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));

}  // namespace zrt::inline ZRT_ABI
