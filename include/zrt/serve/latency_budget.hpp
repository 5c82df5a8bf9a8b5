// SPDX-License-Identifier: Apache-2.0
// zrt/serve/latency_budget.hpp: how long others' prompts may keep a tenant waiting.
#pragma once

#include <zrt/serve/quota.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::serve {

/// Nanoseconds; 0: no matter.
struct LatencyBudget {
  std::uint64_t first_token = 0;  ///< from a request's arrival to its first token, as far as others delay it
  std::uint64_t gap = 0;          ///< by which prompts of lower classes may stretch the gap between two tokens
};

/// The budgets of each class, where a tenant has none of its own (runtime document, section 18.5).
inline constexpr std::array<LatencyBudget, kServiceClasses> kClassBudgets{
    {{100'000'000, 30'000'000}, {500'000'000, 0}, {0, 0}}};

[[nodiscard]] constexpr LatencyBudget latency_budget(const TenantQuota& quota) noexcept {
  const LatencyBudget& own = kClassBudgets[static_cast<std::size_t>(quota.service)];
  return {quota.first_token_ns == kBudgetOfClass ? own.first_token : quota.first_token_ns,
          quota.gap_ns == kBudgetOfClass ? own.gap : quota.gap_ns};
}

/// Nanoseconds of a step that keep to a budget of `first_token`: a request may come just behind the beginning of one
/// step, and is read in the next.
[[nodiscard]] constexpr std::uint64_t step_share(std::uint64_t first_token) noexcept {
  return first_token / 2 + first_token % 2;
}

/// Prompt tokens that a step reads in spite of such a budget: with fewer, a machine that is too slow for it would read
/// its weights for nothing.
inline constexpr std::uint32_t kLeastPrompt = 64;

}  // namespace zrt::inline ZRT_ABI::serve
