// SPDX-License-Identifier: Apache-2.0
// zrt/serve/fair_admission.hpp: which waiting requests get a slot, and whose slot.
#pragma once

#include <zrt/serve/victims.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Fills the slots at the beginning of a step.
///
/// The floor comes first: one slot belongs to the lower classes in turn and is never preempted. Classes follow in
/// order, and in a class the tenant with the least service. Admission stops at the first request that lacks floating
/// pages, so small requests cannot overtake a large one for ever. Only requests that fit their tenant's reservation whole
/// pass it, or pass a floor that has waited; they have all their pages at once.
template <class Rules> class FairAdmission {
 public:
  explicit FairAdmission(SchedulerState<Rules>& state) noexcept : s_(state) {}

  void run() noexcept {
    user_waits_ = s_.user_lacks_pages;
    bool pages = user_waits_;
    for (TenantRow& t : s_.tenants) pages = std::exchange(t.waits_for_pages, false) || pages;
    if (!s_.admits) return;
    if (s_.floor_slot != kNone && s_.work[s_.floor_slot].idle > s_.limits.floor_patience) s_.free_floor();
    if (s_.keeps(Rule::take_idle)) take_idle(pages);
    admit_floor();
    for (std::uint32_t c = 0; c < kServiceClasses; ++c) admit_class(static_cast<ServiceClass>(c));
    s_.user_lacks_pages = user_lacks_pages();
  }

  /// Places a tenant's first request at once, `position` positions behind its beginning, where a slot and pages are free.
  [[nodiscard]] bool resume(std::uint32_t request, std::uint32_t position) noexcept {
    const RequestRow& r = s_.requests[request];
    if (!eligible(s_, r.tenant) || s_.free_slots() == 0) return false;
    const std::uint32_t pages = first_charge(s_, r, false);
    if (floating_for(s_.tenants[r.tenant], pages) > s_.budget.floating_left()) return false;
    const std::uint32_t slot = free_slot();
    place(request, slot, pages, {});
    SlotRow& row = s_.slots[slot];
    row.position = position;
    row.stage = r.decodes_at(position) ? SlotStage::decode : SlotStage::prefill;
    while (row.pages < pages_for(position) && s_.add_page(slot)) {
      const std::uint32_t left = position - (row.pages - 1) * kPageTokens;
      s_.pages.fill(s_.list(slot)[row.pages - 1], left < kPageTokens ? left : kPageTokens);
    }
    return true;
  }

  /// Whether the tenant's own quotas let its first request begin.
  [[nodiscard]] static bool eligible(const SchedulerState<Rules>& s, std::uint32_t tenant) noexcept {
    const TenantRow& t = s.tenants[tenant];
    if (!t.live || t.first == kNone) return false;
    if (s.keeps(Rule::slot_quota) && t.slots >= t.quota.max_slots) return false;
    if (t.decoded.room(t.quota.decode_tokens_per_s) == 0 || t.prefilled.room(t.quota.prefill_tokens_per_s) == 0)
      return false;
    return !s.keeps(Rule::page_quota) || t.charge + first_charge(s, s.requests[t.first], false) <= t.quota.max_pages;
  }

  /// Whether its quota bears all pages that its first request can need.
  [[nodiscard]] static bool fits_quota_whole(const SchedulerState<Rules>& s, std::uint32_t tenant) noexcept {
    const TenantRow& t = s.tenants[tenant];
    return t.charge + s.need(s.requests[t.first]) <= t.quota.max_pages;
  }
  /// Whether a tenant waits for nothing but its turn.
  [[nodiscard]] static bool contends(const SchedulerState<Rules>& s, std::uint32_t tenant) noexcept {
    return eligible(s, tenant) && fits_quota_whole(s, tenant);
  }
  /// A tenant is served. Its class's virtual time goes on to its service, but not beyond that of one that contends.
  static void pass_virtual_time(SchedulerState<Rules>& s, TenantRow& served) noexcept {
    const ServiceClass c = served.quota.service;
    s.lift(served);
    bool blocked = false;
    for (const TenantRow& t : s.tenants) blocked = blocked || (t.live && t.quota.service == c && t.waits_for_pages);
    std::uint64_t time = served.service;
    for (std::uint32_t t = 0; t < s.tenants.size() && !blocked; ++t)
      if (s.tenants[t].quota.service == c && s.tenants[t].service < time && contends(s, t)) time = s.tenants[t].service;
    std::uint64_t& of_class = s.virtual_time[static_cast<std::size_t>(c)];
    if (of_class < time) of_class = time;
  }

  /// Pages that count when a request is admitted: of what it has, or of all that it can need.
  [[nodiscard]] static std::uint32_t first_charge(const SchedulerState<Rules>& s, const RequestRow& r,
                                                  bool whole) noexcept {
    return whole || s.charges_all(r) ? s.need(r) : pages_for(r.known());
  }

 private:
  /// Takes a slot of one whose client has not read for long, where somebody else could use it; at once, where nothing else
  /// computes either. `pages`: somebody lacked pages in the step before. A rate that is used up keeps its slots, because
  /// what is computed again would use it up anew.
  void take_idle(bool pages) noexcept {
    if (s_.held == 0) return;
    std::uint32_t waiting = 0;
    for (std::uint32_t i = 0; i < s_.tenants.size(); ++i) {
      const TenantRow& t = s_.tenants[i];
      const std::uint32_t most = t.quota.max_slots - t.slots;
      if (eligible(s_, i)) waiting += t.queued < most ? t.queued : most;
    }
    if (waiting <= (pages ? 0 : s_.free_slots())) return;
    const std::uint32_t slot = first_to_yield(s_, [&](std::uint32_t other) {
      const SlotWork& w = s_.work[other];
      return w.request != kNone && s_.requests[w.request].holds_token && !w.floor && w.admitted != s_.step &&
             (s_.stands_still || w.idle > s_.limits.floor_patience);
    });
    if (slot != kNone) s_.preempt(slot);
  }

  /// Whether tenant `a` comes before `b`: less service; a smaller dominant share; the older request.
  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    const TenantRow& x = s_.tenants[a];
    const TenantRow& y = s_.tenants[b];
    if (s_.keeps(Rule::counter_order)) {
      if (x.service != y.service) return x.service < y.service;
      const std::uint64_t share_x = dominant_share(x);
      const std::uint64_t share_y = dominant_share(y);
      if (share_x != share_y) return share_x < share_y;
    }
    return s_.requests[x.first].sequence < s_.requests[y.first].sequence;
  }

  /// The largest part that a tenant holds of slots or pages, in 2^-20.
  [[nodiscard]] std::uint64_t dominant_share(const TenantRow& t) const noexcept {
    const std::uint64_t slots = (std::uint64_t{t.slots} << 20) / s_.limits.slots;
    const std::uint64_t pages = (t.charge << 20) / s_.limits.pages;
    return slots > pages ? slots : pages;
  }

  /// The eligible tenant of a class that is next behind `after` in the order of before().
  [[nodiscard]] std::uint32_t next(ServiceClass c, std::uint32_t after, bool floor) const noexcept {
    std::uint32_t found = kNone;
    for (std::uint32_t t = 0; t < s_.tenants.size(); ++t) {
      if (s_.tenants[t].quota.service != c || !eligible(s_, t)) continue;
      if (floor && !fits_quota_whole(s_, t)) continue;
      if (after != kNone && !before(after, t)) continue;
      if (found == kNone || before(t, found)) found = t;
    }
    return found;
  }
  /// Gives the floor to one of the lower classes when nobody holds it and somebody waits. An interactive request that
  /// lacked pages in the step before has them first.
  void admit_floor() noexcept {
    gated_ = false;
    if (s_.limits.slots < 2 || !s_.keeps(Rule::floor_slot) || s_.floor_slot != kNone) return;
    ServiceClass c = s_.floor_to_batch ? ServiceClass::batch : ServiceClass::standard;
    std::uint32_t tenant = next(c, kNone, true);
    if (tenant == kNone) {
      c = s_.floor_to_batch ? ServiceClass::standard : ServiceClass::batch;
      tenant = next(c, kNone, true);
    }
    if (tenant == kNone) {
      s_.floor_waited = 0;
      return;
    }
    const bool yields = user_waits_ && s_.floor_waited < s_.limits.floor_patience && s_.keeps(Rule::yield_floor);
    if (!yields && admit(tenant, {.floor = true, .whole = s_.keeps(Rule::whole_floor)}) == Found::admitted) {
      s_.floor_to_batch = c == ServiceClass::standard && s_.keeps(Rule::floor_turns);
      s_.floor_waited = 0;
      return;
    }
    // A slot that becomes free is the floor's next; pages are so only when it has waited long enough.
    gated_ = ++s_.floor_waited > s_.limits.floor_patience && s_.keeps(Rule::hold_floor_pages);
  }

  void admit_class(ServiceClass c) noexcept {
    bool blocked = false;
    std::uint32_t after = kNone;
    while (true) {
      const std::uint32_t tenant = next(c, after, false);
      if (tenant == kNone) return;
      if (blocked && !within_reservation(tenant)) {
        after = tenant;
        continue;
      }
      const Found found = admit(tenant, {.whole = (blocked || gated_) && s_.keeps(Rule::pass_whole)});
      if (found == Found::no_slot) return;
      if (found == Found::no_pages) {
        s_.tenants[tenant].waits_for_pages = true;
        blocked = s_.keeps(Rule::hold_in_class);
        after = tenant;
      } else {
        after = kNone;
        blocked = false;
      }
    }
  }

  enum class Found : std::uint8_t { admitted, no_slot, no_pages };
  /// How a request is placed.
  struct Place {
    bool floor = false;  ///< as the holder of the floor
    bool whole = false;  ///< with all the pages that it can need
  };

  /// Whether an interactive request that could begin finds too few floating pages, be there a slot or not.
  [[nodiscard]] bool user_lacks_pages() const noexcept {
    for (std::uint32_t i = 0; i < s_.tenants.size(); ++i) {
      const TenantRow& t = s_.tenants[i];
      if (t.quota.service != ServiceClass::interactive || !eligible(s_, i)) continue;
      if (floating_for(t, first_charge(s_, s_.requests[t.first], false)) > s_.budget.floating_left()) return true;
    }
    return false;
  }
  [[nodiscard]] bool within_reservation(std::uint32_t tenant) const noexcept {
    const TenantRow& t = s_.tenants[tenant];
    return t.charge + first_charge(s_, s_.requests[t.first], s_.keeps(Rule::pass_whole)) <= t.quota.reserved_pages;
  }

  [[nodiscard]] std::uint32_t free_slot() const noexcept {
    std::uint32_t slot = 0;
    while (s_.work[slot].request != kNone) ++slot;
    return slot;
  }

  /// Floating pages that a charge of `pages` more would take from a tenant's point of view.
  [[nodiscard]] std::uint64_t floating_for(const TenantRow& t, std::uint32_t pages) const noexcept {
    return PageBudget::over(t.charge + pages, t.quota.reserved_pages) -
           PageBudget::over(t.charge, t.quota.reserved_pages);
  }

  /// Floating pages that would be left if all that may be preempted were.
  [[nodiscard]] std::uint64_t floating_at_best(std::uint32_t priority) noexcept {
    for (std::uint32_t t = 0; t < s_.tenants.size(); ++t) s_.tenant_pages[t] = s_.tenants[t].charge;
    for (std::uint32_t slot = 0; slot < s_.slots.size(); ++slot)
      if (may_take(s_, slot, priority))
        s_.tenant_pages[s_.requests[s_.work[slot].request].tenant] -= s_.work[slot].charge;
    std::uint64_t used = 0;
    for (std::uint32_t t = 0; t < s_.tenants.size(); ++t)
      used += PageBudget::over(s_.tenant_pages[t], s_.tenants[t].quota.reserved_pages);
    return s_.budget.floating() > used ? s_.budget.floating() - used : 0;
  }

  [[nodiscard]] Found admit(std::uint32_t tenant, Place how) noexcept {
    const TenantRow& t = s_.tenants[tenant];
    const std::uint32_t request = t.first;
    const auto priority = static_cast<std::uint32_t>(t.quota.service);
    const std::uint32_t pages = first_charge(s_, s_.requests[request], how.whole);
    const std::uint64_t floating = floating_for(t, pages);
    const auto takes = [&](std::uint32_t slot) { return may_take(s_, slot, priority); };
    bool has_room = s_.free_slots() != 0;
    if (!has_room && first_to_yield(s_, takes) == kNone) return Found::no_slot;
    if (floating != 0 && s_.keeps(Rule::floating_limit)) {
      if (gated_ && !how.floor) return Found::no_pages;
      if (floating > floating_at_best(priority)) return Found::no_pages;
      while (floating > s_.budget.floating_left()) {
        const std::uint32_t victim =
            first_to_yield(s_, [&](std::uint32_t slot) { return takes(slot) && holds_floating(s_, slot); });
        if (victim == kNone) return Found::no_pages;
        s_.preempt(victim);
        has_room = true;
      }
    }
    if (!has_room) {
      const std::uint32_t victim = first_to_yield(s_, takes);
      if (victim == kNone) return Found::no_slot;
      s_.preempt(victim);
    }
    place(request, free_slot(), pages, how);
    return Found::admitted;
  }

  /// Puts a request in a free slot, behind what the prefix tree has of its tokens.
  void place(std::uint32_t request, std::uint32_t slot, std::uint32_t pages, Place how) noexcept {
    RequestRow& r = s_.requests[request];
    s_.dequeue(request);
    r.stage = RequestStage::running;
    r.slot = slot;
    TenantRow& t = s_.tenants[r.tenant];
    ++t.slots;
    pass_virtual_time(s_, t);
    SlotRow& row = s_.slots[slot];
    row.tenant = s_.tenant_handle(r.tenant);
    row.session = r.session == kNone ? 0 : handle_of(r.session, s_.sessions[r.session].generation);
    row.request = s_.request_handle(request);
    row.model = s_.limits.model;
    row.adapter = r.adapter;
    row.prompt_tokens = r.prompt;
    row.generated_tokens = r.generated;
    row.priority = static_cast<std::uint32_t>(t.quota.service);
    SlotWork& w = s_.work[slot];
    w.request = request;
    w.admitted = s_.step;
    w.floor = how.floor;
    w.complete_charge = how.whole || s_.charges_all(r);
    if (how.floor) s_.floor_slot = slot;
    s_.set_charge(slot, pages);
    take_prefix(slot);
    w.entered_at = row.position;
    row.stage = r.decodes_at(row.position) ? SlotStage::decode : SlotStage::prefill;
    if (r.charged < row.position) r.charged = row.position;
    if (r.preemptions == 0 || !s_.keeps(Rule::count_cached)) t.ledger.cached_tokens += row.position;
    ++t.ledger.admissions;
    s_.tell(EventKind::admitted, request, row.position);
  }

  /// Lists the pages of the tree that begin as the request does, but never its last token: that one is computed. So are
  /// positions whose logits the host has still to read. A shelved state goes on behind them, where it is the furthest.
  void take_prefix(std::uint32_t slot) noexcept {
    RequestRow& r = s_.requests[s_.work[slot].request];
    const PrefixDomain domain = s_.domain(s_.work[slot].request);
    const std::uint32_t needless = r.tells() && s_.keeps(Rule::tell_all) ? r.told : r.known() - 1;
    const std::uint32_t most = r.shares || r.preemptions != 0 ? needless / kPageTokens : 0;
    std::uint32_t* list = s_.list(slot);
    std::uint32_t found = 0;
    std::uint32_t usable = 0;
    for (std::uint32_t parent = kNone; found < most; ++found) {
      const std::uint32_t page = s_.tree.find(domain, parent, r.tokens + std::size_t{found} * kPageTokens);
      if (page == kNone) break;
      list[found] = page;
      parent = page;
      const bool resumable = !s_.hybrid() || !s_.keeps(Rule::hit_needs_checkpoint) || s_.tree.checkpoint(page) != kNone;
      if (resumable) usable = found + 1;
    }
    const std::uint32_t behind = r.shelf == kNone ? 0 : s_.shelf.position(r.shelf) / kPageTokens;
    const bool shelved = r.shelf != kNone && found >= behind && usable <= behind;
    if (shelved)
      usable = behind;
    else
      s_.unshelve(r);
    for (std::uint32_t i = 0; i < usable; ++i) s_.pages.share(list[i]);
    SlotRow& row = s_.slots[slot];
    row.pages = usable;
    row.prefix_pages = usable;
    row.position = usable * kPageTokens;
    SlotWork& w = s_.work[slot];
    w.in_tree = usable;
    if (shelved) return take_shelved(slot);
    if (s_.hybrid() && usable != 0) w.load = s_.tree.checkpoint(list[usable - 1]);
    if (w.load != kNone) s_.checkpoints.pin(w.load);
  }
  /// Goes on behind the position of the shelved state; the pages before the last border are listed.
  void take_shelved(std::uint32_t slot) noexcept {
    SlotRow& row = s_.slots[slot];
    SlotWork& w = s_.work[slot];
    w.shelf = s_.requests[w.request].shelf;
    const std::uint32_t position = s_.shelf.position(w.shelf), tail = position % kPageTokens;
    if (tail != 0 && s_.keeps(Rule::restore_tail) && s_.add_page(slot))
      s_.pages.fill(s_.list(slot)[row.pages - 1], tail);
    row.position = position;
  }

  SchedulerState<Rules>& s_;
  bool user_waits_ = false;  ///< an interactive request lacked pages in the step before
  bool gated_ = false;       ///< floating pages are the floor's
};

}  // namespace zrt::inline ZRT_ABI::serve
