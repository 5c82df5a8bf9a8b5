// SPDX-License-Identifier: Apache-2.0
// zrt/serve/victims.hpp: which slot makes room for another.
#pragma once

#include <zrt/serve/scheduler_state.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// New tokens that a slot computes before it is chosen again where another could be.
inline constexpr std::uint32_t kProtectedTokens = 16;

/// Whether slot `a` is preempted before `b`: the lower class; then what has made some progress since it was admitted;
/// then the tenant with the most service; then the least computed; then the youngest. No two slots are equal.
template <class Rules>
[[nodiscard]] bool yields_before(const SchedulerState<Rules>& s, std::uint32_t a, std::uint32_t b) noexcept {
  if (s.slots[a].priority != s.slots[b].priority) return s.slots[a].priority > s.slots[b].priority;
  const auto fresh = [&s](std::uint32_t slot) {
    return s.slots[slot].position - s.work[slot].entered_at < kProtectedTokens;
  };
  if (fresh(a) != fresh(b)) return fresh(b);
  const RequestRow& x = s.requests[s.work[a].request];
  const RequestRow& y = s.requests[s.work[b].request];
  const std::uint64_t served_x = s.tenants[x.tenant].service;
  const std::uint64_t served_y = s.tenants[y.tenant].service;
  if (served_x != served_y) return served_x > served_y;
  if (s.slots[a].position != s.slots[b].position) return s.slots[a].position < s.slots[b].position;
  return x.sequence > y.sequence;
}

/// Whether a request of class `priority` may take slot `slot` from what runs there.
template <class Rules>
[[nodiscard]] bool may_take(const SchedulerState<Rules>& s, std::uint32_t slot, std::uint32_t priority) noexcept {
  const SlotWork& w = s.work[slot];
  if (w.request == kNone || w.floor || w.admitted == s.step) return false;
  if (!s.keeps(Rule::keep_interactive)) return true;
  return s.keeps(Rule::class_order) && s.slots[slot].priority > priority;
}

/// Whether preempting what runs in a slot gives floating pages back.
template <class Rules> [[nodiscard]] bool holds_floating(const SchedulerState<Rules>& s, std::uint32_t slot) noexcept {
  const TenantRow& t = s.tenants[s.requests[s.work[slot].request].tenant];
  return t.charge > t.quota.reserved_pages;
}

/// The slot that yields first among those for which `fits(slot)`, or kNone.
template <class Rules, class Fits>
[[nodiscard]] std::uint32_t first_to_yield(const SchedulerState<Rules>& s, Fits fits) noexcept {
  std::uint32_t found = kNone;
  for (std::uint32_t slot = 0; slot < s.slots.size(); ++slot)
    if (s.work[slot].request != kNone && fits(slot) && (found == kNone || yields_before(s, slot, found))) found = slot;
  return found;
}

}  // namespace zrt::inline ZRT_ABI::serve
