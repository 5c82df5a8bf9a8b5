// SPDX-License-Identifier: Apache-2.0
// zrt/serve/prompt_room.hpp: how many prompt tokens of lower classes a step takes beside interactive answers.
#pragma once

#include <zrt/serve/page_meta.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// What the slots do in a step, before prompts are shared out.
struct SlotLoad {
  std::uint32_t busy = 0;
  std::uint32_t decoding = 0;
  bool answers = false;  ///< an interactive request is given a token
};

/// Prompt tokens that the standard and batch classes may have together, where a step has time for `timely`.
///
/// Time that does not suffice must not stop prompts, so beside an interactive answer they have what keeps its gaps even:
/// with the generated ones no more tokens than slots are busy, and a quarter.
[[nodiscard]] constexpr std::uint32_t lower_room(std::uint32_t timely, const SlotLoad& load) noexcept {
  if (!load.answers) return ~0u;
  const std::uint32_t quarter = load.busy < 8 ? 1 : load.busy / 4;
  const std::uint32_t even = load.busy - load.decoding + quarter;
  return timely > even ? timely : even;
}

/// What comes to the floor's prompt of `lower` such tokens, where a step has `room` for prompts.
[[nodiscard]] constexpr std::uint32_t floor_room(std::uint32_t room, std::uint32_t lower) noexcept {
  const std::uint32_t own = room / 20 > kPageTokens ? room / 20 : kPageTokens;
  return own < lower / 2 ? own : lower / 2;
}

static_assert(lower_room(0, {4, 3, true}) == 2 && lower_room(0, {64, 63, true}) == 17, "a quarter more than all slots");
static_assert(lower_room(48, {4, 3, true}) == 48 && lower_room(0, {4, 3, false}) == ~0u);
static_assert(floor_room(0, lower_room(0, {2, 1, true})) == 1, "a floor that reads is not one that decodes");
static_assert(floor_room(512, ~0u) == 25 && floor_room(48, 48) == 16);

}  // namespace zrt::inline ZRT_ABI::serve
