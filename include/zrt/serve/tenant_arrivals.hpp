// SPDX-License-Identifier: Apache-2.0
// zrt/serve/tenant_arrivals.hpp: tenants and sessions that come, change and go.
#pragma once

#include <zrt/serve/step_event.hpp>
#include <zrt/serve/victims.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Tells the host what became of an arrival.
template <class Rules>
void answer(SchedulerState<Rules>& s, const Arrival& a, EventKind kind, Handle subject, Handle tenant,
            Refusal refusal = Refusal::none, std::uint64_t retry_after = 0) noexcept {
  StepEvent e;
  e.kind = kind;
  e.refusal = refusal;
  e.tag = a.tag;
  e.subject = subject;
  e.tenant = tenant;
  e.retry_after = retry_after;
  s.tell(e);
}
template <class Rules>
void refuse(SchedulerState<Rules>& s, const Arrival& a, Refusal why, std::uint64_t retry_after = 0) noexcept {
  answer(s, a, EventKind::refused, a.subject, 0, why, retry_after);
}

/// Answers the arrivals that are about tenants and sessions. Each is answered at once.
template <class Rules> class TenantArrivals {
 public:
  explicit TenantArrivals(SchedulerState<Rules>& state) noexcept : s_(state) {}

  void create(const Arrival& a) noexcept {
    if (!check(a.quota)) return refuse(s_, a, Refusal::bad_quota);
    std::uint32_t row = 0;
    while (row < s_.tenants.size() && s_.tenants[row].live) ++row;
    if (row == s_.tenants.size()) return refuse(s_, a, Refusal::too_many_tenants);
    if (s_.keeps(Rule::reservation_fits) && !reserves(kNone, a.quota)) return refuse(s_, a, Refusal::reservation);
    TenantRow fresh;
    fresh.generation = s_.tenants[row].generation + 1;
    fresh.live = true;
    fresh.quota = a.quota;
    fresh.left = s_.tenants[row].left;
    fresh.service = first_service(fresh);
    (void)fresh.advance(s_.now);  // its windows begin here
    s_.tenants[row] = fresh;
    s_.budget.reserve(0, a.quota.reserved_pages, 0);
    answer(s_, a, EventKind::tenant_created, s_.tenant_handle(row), s_.tenant_handle(row));
  }

  void change(const Arrival& a) noexcept {
    const std::uint32_t tenant = s_.find_tenant(a.subject);
    if (tenant == kNone) return refuse(s_, a, Refusal::unknown_subject);
    TenantRow& t = s_.tenants[tenant];
    TenantQuota quota = a.quota;
    quota.group = t.quota.group;  // its prefixes stay where they are
    quota.service = t.quota.service;
    if (!check(quota)) return refuse(s_, a, Refusal::bad_quota);
    if (!reserves(tenant, quota)) return refuse(s_, a, Refusal::reservation);
    s_.budget.reserve(t.quota.reserved_pages, quota.reserved_pages, t.charge);
    t.quota = quota;
    answer(s_, a, EventKind::tenant_changed, a.subject, a.subject);
    for (std::uint32_t i = 0; i < s_.requests.size(); ++i) {
      const RequestRow& r = s_.requests[i];
      const bool fits = s_.need(r) <= quota.max_pages && fits_context(r, quota) && s_.keeps(Rule::spare_fitting);
      if (r.goes_on() && r.tenant == tenant && !fits) s_.end(i, EndReason::quota_lowered);
    }
    while (t.slots > quota.max_slots || t.charge > quota.max_pages)
      s_.preempt(
          first_to_yield(s_, [&](std::uint32_t slot) { return s_.requests[s_.work[slot].request].tenant == tenant; }));
  }

  void remove(const Arrival& a) noexcept {
    const std::uint32_t tenant = s_.find_tenant(a.subject);
    if (tenant == kNone) return refuse(s_, a, Refusal::unknown_subject);
    TenantRow& t = s_.tenants[tenant];
    if (s_.keeps(Rule::end_with_tenant))
      for (std::uint32_t i = 0; i < s_.requests.size(); ++i)
        if (s_.requests[i].stage != RequestStage::free &&
            (s_.requests[i].tenant == tenant || !s_.keeps(Rule::spare_others)))
          s_.end(i, EndReason::tenant_removed);
    for (SessionRow& session : s_.sessions)
      if (session.tenant == tenant) session.tenant = kNone;
    t.sessions = 0;
    const PrefixScope scope = t.scope(tenant);
    s_.budget.reserve(t.quota.reserved_pages, 0, t.charge);
    t.live = false;
    t.left[static_cast<std::size_t>(t.quota.service)] = t.service;
    bool shared = false;
    for (std::uint32_t i = 0; i < s_.tenants.size(); ++i)
      shared = shared || (s_.tenants[i].live && s_.tenants[i].scope(i) == scope);
    if (!shared && s_.keeps(Rule::drop_scope)) s_.drop_scope(scope);
    answer(s_, a, EventKind::tenant_removed, a.subject, a.subject);
  }

  void open(const Arrival& a) noexcept {
    const std::uint32_t tenant = s_.find_tenant(a.subject);
    if (tenant == kNone) return refuse(s_, a, Refusal::unknown_subject);
    TenantRow& t = s_.tenants[tenant];
    if (t.sessions >= t.quota.max_sessions && s_.keeps(Rule::session_quota))
      return refuse(s_, a, Refusal::too_many_sessions);
    for (std::uint32_t i = 0; i < s_.sessions.size(); ++i) {
      SessionRow& session = s_.sessions[i];
      if (session.tenant != kNone) continue;
      session.tenant = tenant;
      ++session.generation;
      ++t.sessions;
      return answer(s_, a, EventKind::session_opened, handle_of(i, session.generation), a.subject);
    }
    refuse(s_, a, Refusal::too_many_sessions);
  }

  void close(const Arrival& a) noexcept {
    const std::uint32_t session = s_.find_session(a.subject);
    if (session == kNone) return refuse(s_, a, Refusal::unknown_subject);
    if (s_.keeps(Rule::end_with_session))
      for (std::uint32_t i = 0; i < s_.requests.size(); ++i)
        if (s_.requests[i].stage != RequestStage::free &&
            (s_.requests[i].session == session ||
             (!s_.keeps(Rule::spare_sessions) && s_.requests[i].tenant == s_.sessions[session].tenant)))
          s_.end(i, EndReason::session_closed);
    answer(s_, a, EventKind::session_closed, a.subject, s_.tenant_handle(s_.sessions[session].tenant));
    --s_.tenants[s_.sessions[session].tenant].sessions;
    s_.sessions[session].tenant = kNone;
  }

 private:
  /// A tenant begins where the last one of its class in its row ended, but not behind all that wait. So tenants that come
  /// for a request each do not come first for ever.
  [[nodiscard]] std::uint64_t first_service(const TenantRow& fresh) const noexcept {
    if (!s_.keeps(Rule::inherit_service)) return 0;
    std::uint64_t most = 0;
    for (const TenantRow& t : s_.tenants)
      if (t.live && t.queued != 0 && t.quota.service == fresh.quota.service && t.service > most) most = t.service;
    const std::uint64_t left = fresh.left[static_cast<std::size_t>(fresh.quota.service)];
    return left < most ? left : most;
  }
  [[nodiscard]] bool fits_context(const RequestRow& r, const TenantQuota& quota) const noexcept {
    return !s_.keeps(Rule::context_quota) || std::uint64_t{r.prompt} + r.most <= quota.max_context;
  }
  /// Whether the reservation fits, and leaves every request that was accepted the pages that it can need.
  [[nodiscard]] bool reserves(std::uint32_t tenant, const TenantQuota& quota) const noexcept {
    const std::uint32_t from = tenant == kNone ? 0 : s_.tenants[tenant].quota.reserved_pages;
    const std::uint64_t charge = tenant == kNone ? 0 : s_.tenants[tenant].charge;
    if (!s_.budget.reserves(from, quota.reserved_pages, charge)) return false;
    PageBudget after = s_.budget;
    after.reserve(from, quota.reserved_pages, charge);
    for (const RequestRow& r : s_.requests) {
      if (!r.goes_on()) continue;
      const std::uint32_t own = r.tenant == tenant ? quota.reserved_pages : s_.tenants[r.tenant].quota.reserved_pages;
      if (s_.need(r) > own + after.floating()) return false;
    }
    return true;
  }

  SchedulerState<Rules>& s_;
};

}  // namespace zrt::inline ZRT_ABI::serve
