// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/hash_table.hpp: how the hash tables of a tokenizer are sized and spread, so that no file makes them slow.
#pragma once

#include <zrt/core/config.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::text::detail {

/// How often a table is spread in another way before its keys are refused.
inline constexpr std::uint64_t kWaysToSpread = 4;

/// Slots for `count` keys: a power of two, at most half of them taken.
[[nodiscard]] constexpr std::size_t table_slots(std::size_t count) noexcept {
  std::size_t wanted = 16;
  while (wanted < count * 2) wanted *= 2;
  return wanted;
}

/// Steps past taken slots that `count` keys may cost: four for each at most, where one half is usual.
[[nodiscard]] constexpr std::size_t most_steps(std::size_t count) noexcept { return 4 * count + 64; }

/// Where the search for a key of that hash begins, before it is cut to the table's size.
[[nodiscard]] constexpr std::uint64_t spread(std::uint64_t hash, std::uint64_t way) noexcept {
  hash += way * 0x9e3779b97f4a7c15u;
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
  return hash ^ hash >> 33;
}

}  // namespace zrt::inline ZRT_ABI::text::detail
