// SPDX-License-Identifier: Apache-2.0
// zrt/serve/prompt_room.hpp: how many prompt tokens a step takes, so that nobody waits too long for it.
#pragma once

#include <zrt/serve/latency_budget.hpp>
#include <zrt/serve/page_meta.hpp>
#include <zrt/serve/step_pace.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// What the slots do in a step, before prompts are shared out.
struct SlotLoad {
  std::uint32_t busy = 0;
  std::uint32_t decoding = 0;
  bool answers = false;      ///< an interactive request is given a token
  std::uint32_t tokens = 0;  ///< of those that decode, with their drafts
  std::uint64_t gap = 0;     ///< the smallest budget of the interactive answers; 0: none has one
  /// The smallest target of a step that a request of a class names; 0: none does.
  std::array<std::uint64_t, kServiceClasses> target{};
};

/// Prompt tokens of a step: at index 0 of all classes together, at 1 of standard and batch, at 2 of batch.
using ClassRoom = std::array<std::uint32_t, kServiceClasses>;

/// Whose first token may have to wait for a step's prompts, by class.
struct FirstTokens {
  std::array<std::uint64_t, kServiceClasses> budget{};   ///< the smallest; 0: none has one
  std::array<std::uint32_t, kServiceClasses> tenants{};  ///< that have one

  void add(const TenantQuota& quota) noexcept {
    const std::uint64_t own = latency_budget(quota).first_token;
    if (own == 0) return;
    const auto c = static_cast<std::size_t>(quota.service);
    ++tenants[c];
    if (budget[c] == 0 || own < budget[c]) budget[c] = own;
  }

  /// What a step may read beside `others` tokens: lower classes keep to the budgets of higher ones, and the tenants of a
  /// class to those of each other. A tenant does not wait for itself.
  [[nodiscard]] ClassRoom room(const StepPace& pace, std::uint32_t others) const noexcept {
    ClassRoom most{~0u, ~0u, ~0u};
    for (std::size_t c = 0; c < kServiceClasses; ++c) {
      const std::size_t from = tenants[c] > 1 ? c : c + 1;
      if (tenants[c] == 0 || from == kServiceClasses) continue;
      const std::uint32_t timely = pace.within(step_share(budget[c]), others, ~0u);
      const std::uint32_t own = timely > kLeastPrompt ? timely : kLeastPrompt;
      most[from] = most[from] < own ? most[from] : own;
    }
    return most;
  }
};

/// Prompt tokens that the standard and batch classes may have together, where a step has time for `timely`: all that there
/// are, but beside an interactive answer.
///
/// Time that does not suffice must not stop prompts, so there they have at least what keeps its gaps even:
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
