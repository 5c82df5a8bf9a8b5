// SPDX-License-Identifier: Apache-2.0
// zrt/serve/scheduler_state.hpp: the tables of a scheduler and the moves that keep them in step with each other.
#pragma once

#include <zrt/serve/arrival.hpp>
#include <zrt/serve/checkpoints.hpp>
#include <zrt/serve/page_budget.hpp>
#include <zrt/serve/prefix_tree.hpp>
#include <zrt/serve/request_row.hpp>
#include <zrt/serve/scheduler_limits.hpp>
#include <zrt/serve/shared_pages.hpp>
#include <zrt/serve/slot_row.hpp>
#include <zrt/serve/state_shelf.hpp>
#include <zrt/serve/step_event.hpp>
#include <zrt/serve/step_pace.hpp>
#include <zrt/serve/tenant_row.hpp>

namespace zrt::inline ZRT_ABI::serve {

struct SessionRow {
  std::uint32_t generation = 0;
  std::uint32_t tenant = kNone;  ///< kNone: the row is free
};

/// All that a scheduler remembers. Everything is allocated once, in make().
template <class Rules> struct SchedulerState {
  [[nodiscard]] static Result<SchedulerState> make(const SchedulerLimits& l, Rules rules,
                                                   const Allocator& allocator) noexcept {
    if (auto r = check(l); !r) return pass(r);
    auto pages = SharedPages::make(l.pages, allocator);
    if (!pages) return pass(pages);
    auto tree = PrefixTree<Rules>::make(l.pages, l.key, l.hash_bits, rules, allocator);
    if (!tree) return pass(tree);
    auto checkpoints = Checkpoints::make(l.checkpoints, allocator);
    if (!checkpoints) return pass(checkpoints);
    auto shelf = StateShelf::make(l.shelf, allocator);
    if (!shelf) return pass(shelf);
    SchedulerState s(l, rules, std::move(*pages), std::move(*tree), std::move(*checkpoints), std::move(*shelf),
                     allocator);
    s.list_pages = pages_for(l.context);
    const std::size_t requests = std::size_t{l.queue} + l.slots + l.slots;
    if (auto r = s.tenants.resize(l.tenants); !r) return pass(r);
    if (auto r = s.sessions.resize(l.sessions); !r) return pass(r);
    if (auto r = s.requests.resize(requests); !r) return pass(r);
    if (auto r = s.slots.resize(l.slots); !r) return pass(r);
    if (auto r = s.work.resize(l.slots); !r) return pass(r);
    if (auto r = s.lists.resize(std::size_t{l.slots} * s.list_pages); !r) return pass(r);
    if (auto r = s.free_requests.reserve(requests); !r) return pass(r);
    for (std::size_t i = requests; i-- > 0;) (void)s.free_requests.push_back(static_cast<std::uint32_t>(i));
    if (auto r = s.runs.reserve(l.slots); !r) return pass(r);
    if (auto r = s.shares.resize(l.slots); !r) return pass(r);
    if (auto r = s.tenant_pages.resize(l.tenants); !r) return pass(r);
    // A step answers each arrival once or twice; a request is admitted, preempted, given a token and ended in it. A draft
    // is a token more.
    if (auto r = s.events.reserve(std::size_t{l.arrivals} * 2 + requests * 4 + l.draft_tokens); !r) return pass(r);
    return s;
  }

  SchedulerState(SchedulerState&&) noexcept = default;
  SchedulerState& operator=(SchedulerState&&) noexcept = default;

  SchedulerLimits limits;
  [[no_unique_address]] Rules rules;
  SharedPages pages;
  PrefixTree<Rules> tree;
  Checkpoints checkpoints;
  StateShelf shelf;
  PageBudget budget;
  StepPace pace{};
  Vector<TenantRow> tenants;
  Vector<SessionRow> sessions;
  Vector<RequestRow> requests;
  Vector<std::uint32_t> free_requests;
  Vector<SlotRow> slots;
  Vector<SlotWork> work;
  Vector<std::uint32_t> lists;         ///< page lists, `list_pages` for each slot
  Vector<PlannedRun> runs;             ///< of the step that the machine computes now
  Vector<StepEvent> events;            ///< of the last step
  Vector<std::uint32_t> shares;        ///< scratch of the planner, by slot
  Vector<std::uint64_t> tenant_pages;  ///< scratch of admission, by tenant
  std::uint32_t list_pages = 0;
  std::uint32_t queued = 0;
  std::uint32_t unread = 0;         ///< complete or preempted answers of which a token waits for the client
  std::uint32_t held = 0;           ///< requests that hold a token
  std::uint32_t lost_events = 0;    ///< always 0
  std::uint32_t pageless_runs = 0;  ///< runs that found no page in spite of their charge: always 0
  std::uint64_t now = 0;
  std::uint64_t step = 0;
  std::uint64_t sequence = 0;
  /// By class: the virtual service of the tenant that was served last, or the least of those that wait for their turn
  /// where that is less; it never goes back.
  std::array<std::uint64_t, kServiceClasses> virtual_time{};
  std::uint64_t last_end = 0;           ///< when a request left its slot, or came to an idle machine
  std::uint64_t end_gap = 100'000'000;  ///< nanoseconds from one such end to the next, smoothed
  std::uint32_t floor_slot = kNone;
  std::uint32_t floor_waited = 0;  ///< steps
  bool stands_still = false;       ///< nothing computes in this step as it is, and somebody waits
  bool user_lacks_pages = false;   ///< an interactive request that waits does
  bool floor_to_batch = false;     ///< which class holds the floor next
  bool admits = true;              ///< requests that wait may begin
  bool quiet = false;              ///< the last step did nothing, and nothing came since: time alone changes that

  [[nodiscard]] bool keeps(Rule rule) const noexcept { return rules.keeps(rule); }

  [[nodiscard]] std::uint32_t free_slots() const noexcept {
    std::uint32_t free = 0;
    for (const SlotWork& w : work) free += w.request == kNone ? 1u : 0u;
    return free;
  }
  /// Requests in queues, and complete ones that nobody has read.
  [[nodiscard]] std::uint32_t waiting() const noexcept { return queued + unread; }
  [[nodiscard]] bool hybrid() const noexcept { return limits.recurrent || limits.checkpoints != 0; }
  /// Whether a slot cannot go back over wrong guesses.
  [[nodiscard]] bool one_way() const noexcept { return hybrid() && !limits.goes_back; }
  [[nodiscard]] std::uint32_t* list(std::uint32_t slot) noexcept { return &lists[std::size_t{slot} * list_pages]; }
  [[nodiscard]] Span<const std::uint32_t> list(std::uint32_t slot) const noexcept {
    return lists.span().subspan(std::size_t{slot} * list_pages, slots[slot].pages);
  }
  [[nodiscard]] PrefixDomain domain(std::uint32_t request) const noexcept {
    const RequestRow& r = requests[request];
    const PrefixScope scope =
        r.shares ? tenants[r.tenant].scope(r.tenant) : kRequestScope | handle_of(request, r.generation);
    return {scope, limits.model, limits.kv_type, 0, r.adapter};
  }
  [[nodiscard]] Handle request_handle(std::uint32_t row) const noexcept {
    return handle_of(row, requests[row].generation);
  }
  [[nodiscard]] Handle tenant_handle(std::uint32_t row) const noexcept {
    return row == kNone ? 0 : handle_of(row, tenants[row].generation);
  }
  /// The row of a live tenant, session or request, or kNone.
  [[nodiscard]] std::uint32_t find_tenant(Handle h) const noexcept {
    const std::uint32_t row = row_of(h);
    return row < tenants.size() && tenants[row].live && tenants[row].generation == generation_of(h) ? row : kNone;
  }
  [[nodiscard]] std::uint32_t find_session(Handle h) const noexcept {
    const std::uint32_t row = row_of(h);
    const bool found =
        row < sessions.size() && sessions[row].tenant != kNone && sessions[row].generation == generation_of(h);
    return found ? row : kNone;
  }
  [[nodiscard]] std::uint32_t find_request(Handle h) const noexcept {
    const std::uint32_t row = row_of(h);
    const bool found = row < requests.size() && requests[row].stage != RequestStage::free &&
                       (requests[row].generation == generation_of(h) || !keeps(Rule::compare_generation));
    return found ? row : kNone;
  }

  /// Pages that a request can need: its last token is never computed.
  [[nodiscard]] static std::uint32_t need(const RequestRow& r) noexcept { return pages_for(r.prompt + r.most - 1); }
  /// Whether all pages of a request are set aside when it is admitted: it may not be preempted for pages later.
  [[nodiscard]] bool charges_all(const RequestRow& r) const noexcept {
    return tenants[r.tenant].quota.service == ServiceClass::interactive ||
           (r.preemptions >= 2 && keeps(Rule::set_aside));
  }

  void tell(const StepEvent& event) noexcept {
    if (events.size() == events.capacity()) {
      ++lost_events;
      return;
    }
    (void)events.push_back(event);
  }
  void tell(EventKind kind, std::uint32_t request, std::uint32_t value = 0, EndReason end = EndReason::none) noexcept {
    const RequestRow& r = requests[request];
    StepEvent e;
    e.kind = kind;
    e.end = end;
    e.tag = r.tag;
    e.subject = request_handle(request);
    e.tenant = tenant_handle(r.tenant);
    e.value = value;
    tell(e);
  }

  // --- pages ---

  /// Changes what counts against a slot's tenant.
  void set_charge(std::uint32_t slot, std::uint32_t pages_now) noexcept {
    TenantRow& t = tenants[requests[work[slot].request].tenant];
    const std::uint64_t to = t.charge - work[slot].charge + pages_now;
    budget.charge(t.quota.reserved_pages, t.charge, to);
    t.charge = to;
    work[slot].charge = pages_now;
    if (t.charge > t.ledger.peak_pages) t.ledger.peak_pages = static_cast<std::uint32_t>(t.charge);
  }

  /// Forgets the cached page that was released first; false when none is cached.
  [[nodiscard]] bool evict_oldest() noexcept {
    std::uint32_t page = pages.oldest();
    if (page == kNone) return false;
    if (!keeps(Rule::evict_oldest) && pages.after(page) != kNone) page = pages.after(page);
    evict(page);
    return true;
  }
  void evict(std::uint32_t page) noexcept {
    const std::uint32_t checkpoint = tree.checkpoint(page);
    if (checkpoint != kNone && keeps(Rule::free_with_page)) checkpoints.free(checkpoint);
    if (keeps(Rule::forget_evicted)) tree.erase(page);
    pages.evict(page);
  }
  /// Forgets the cached pages of a scope. Children stand before their parents in the list.
  void drop_scope(PrefixScope scope) noexcept {
    for (std::uint32_t page = pages.oldest(); page != kNone;) {
      const std::uint32_t after = pages.after(page);
      if (pages.meta()[page].scope == scope) evict(page);
      page = after;
    }
  }

  /// Appends a page to a slot's list; false when there is none.
  [[nodiscard]] bool add_page(std::uint32_t slot) noexcept {
    const PrefixScope scope = domain(work[slot].request).scope;
    if (slots[slot].pages == list_pages) return false;
    std::uint32_t page = pages.take(scope, slot);
    if (page == kNone && evict_oldest()) page = pages.take(scope, slot);
    if (page == kNone) return false;
    list(slot)[slots[slot].pages++] = page;
    return true;
  }

  /// Gives back the pages behind a slot's position, which hold drafts that came to nothing.
  void drop_pages(std::uint32_t slot) noexcept {
    SlotRow& row = slots[slot];
    while (row.pages > pages_for(row.position)) pages.release(list(slot)[--row.pages], false);
  }

  /// Puts the slot's full pages in the tree. Where the tree has such a page, the slot lists that one in place of its own.
  void share_pages(std::uint32_t slot) noexcept {
    SlotWork& w = work[slot];
    const RequestRow& r = requests[w.request];
    const PrefixDomain d = domain(w.request);
    std::uint32_t* own = list(slot);
    const std::uint32_t early = keeps(Rule::full_pages_only) ? 0 : 1;
    const std::uint32_t full = (slots[slot].position + early) / kPageTokens;
    for (; w.in_tree < full; ++w.in_tree) {
      const std::uint32_t i = w.in_tree;
      const std::uint32_t parent = i == 0 ? kNone : own[i - 1];
      const std::uint32_t* tokens = r.tokens + std::size_t{i} * kPageTokens;
      const std::uint32_t page = tree.find(d, parent, tokens);
      if (page == kNone) {
        tree.insert(own[i], d, parent, tokens);
        if (keeps(Rule::seal_shared)) pages.seal(own[i]);
      } else {
        const std::uint32_t duplicate = own[i];
        pages.share(page);
        if (keeps(Rule::remap_before_free)) own[i] = page;
        pages.release(duplicate, false);
      }
    }
  }

  /// Gives back all that a slot holds.
  void release_pages(std::uint32_t slot) noexcept {
    SlotWork& w = work[slot];
    if (w.load != kNone) checkpoints.unpin(w.load);
    w.load = kNone;
    const std::uint32_t count = slots[slot].pages;
    const std::uint32_t kept = !keeps(Rule::release_every_page) && count > w.in_tree ? 1u : 0u;
    for (std::uint32_t i = 0; i < count - kept; ++i) {
      const std::uint32_t at = keeps(Rule::release_tail_first) ? count - kept - 1 - i : i;
      pages.release(list(slot)[at], tree.contains(list(slot)[at]));
    }
    if (!keeps(Rule::release_once) && count != 0) pages.release(list(slot)[0], tree.contains(list(slot)[0]));
    if (keeps(Rule::uncharge_pages)) set_charge(slot, 0);
  }

  // --- requests ---

  /// Puts a request in its tenant's queue by its order of arrival: a preempted one comes before younger ones.
  void enqueue(std::uint32_t request) noexcept {
    RequestRow& r = requests[request];
    TenantRow& t = tenants[r.tenant];
    std::uint32_t* link = &t.first;
    if (t.last != kNone && requests[t.last].sequence < r.sequence) link = &requests[t.last].next;
    while (*link != kNone && requests[*link].sequence < r.sequence) link = &requests[*link].next;
    r.next = *link;
    *link = request;
    if (r.next == kNone) t.last = request;
    r.stage = RequestStage::waiting;
    ++t.queued;
    ++queued;
  }
  void dequeue(std::uint32_t request) noexcept {
    RequestRow& r = requests[request];
    TenantRow& t = tenants[r.tenant];
    std::uint32_t* link = &t.first;
    std::uint32_t before = kNone;
    for (; *link != request; link = &requests[*link].next) before = *link;
    *link = r.next;
    if (t.last == request) t.last = before;
    r.next = kNone;
    --t.queued;
    --queued;
  }

  void leave_slot(std::uint32_t request) noexcept {
    RequestRow& r = requests[request];
    release_pages(r.slot);
    if (floor_slot == r.slot) floor_slot = kNone;
    slots[r.slot] = {};
    work[r.slot] = {};
    r.slot = kNone;
    --tenants[r.tenant].slots;
  }
  /// Takes the floor from a request that computes nothing, because of its client or its tenant's rate. It keeps its slot.
  void free_floor() noexcept {
    if (floor_slot == kNone || !keeps(Rule::free_idle_floor)) return;
    work[floor_slot].floor = false;
    floor_slot = kNone;
  }
  /// Brings a tenant up to the virtual time of its class, so that nobody has credit for service that it did not ask for
  /// or could not take. (Start-time fair queueing: Goyal, Vin, Cheng, 1996.)
  void lift(TenantRow& t) const noexcept {
    const std::uint64_t time = virtual_time[static_cast<std::size_t>(t.quota.service)];
    if (t.service < time && keeps(Rule::lift_counter)) t.service = time;
  }

  /// A request that is in no slot waits for its client alone: nobody waits behind it.
  void leave_unread(std::uint32_t request, RequestStage stage) noexcept {
    requests[request].stage = stage;
    ++tenants[requests[request].tenant].unread;
    ++unread;
  }
  /// A request whose client has read it joins its tenant's queue again.
  void unpark(std::uint32_t request) noexcept {
    TenantRow& t = tenants[requests[request].tenant];
    --t.unread;
    --unread;
    if (t.queued == 0) lift(t);
    enqueue(request);
  }

  /// Keeps a slot's state for its request, which is preempted. One that no run has loaded yet stays where it is.
  void shelve(std::uint32_t slot) noexcept {
    const SlotWork& w = work[slot];
    const std::uint32_t position = slots[slot].position;
    if (!hybrid() || w.shelf != kNone || w.load != kNone || position == 0 || !keeps(Rule::shelve_state)) return;
    const std::uint32_t tail = position % kPageTokens == 0 ? kNone : list(slot)[position / kPageTokens];
    RequestRow& r = requests[w.request];
    r.shelf = shelf.put(w.request, {slot, 0, position, tail});
    if (r.shelf == kNone && !r.holds_token && clear_unread()) r.shelf = shelf.put(w.request, {slot, 0, position, tail});
  }
  /// Takes a row of the shelf from a request that waits for its client: a client that does not read costs itself alone. Of
  /// several the one that arrived first begins anew. False where there is none.
  [[nodiscard]] bool clear_unread() noexcept {
    if (!keeps(Rule::yield_shelf)) return false;
    RequestRow* first = nullptr;
    for (const StateShelf::Row& row : shelf.rows()) {
      if (row.request == kNone || requests[row.request].stage != RequestStage::parked) continue;
      if (first == nullptr || requests[row.request].sequence < first->sequence) first = &requests[row.request];
    }
    if (first != nullptr) unshelve(*first);
    return first != nullptr;
  }
  /// A request has no use for its shelved state any more.
  void unshelve(RequestRow& r) noexcept {
    if (r.shelf != kNone && keeps(Rule::clear_shelf)) shelf.free(r.shelf);
    r.shelf = kNone;
  }

  /// Takes a running request out of its slot; it resumes where it was. Pages that nobody else may find are the request's
  /// own until it ends, so that what it has computed is not lost.
  void preempt(std::uint32_t slot) noexcept {
    const std::uint32_t request = work[slot].request;
    RequestRow& r = requests[request];
    shelve(slot);
    if (!r.shares && (!hybrid() || r.shelf != kNone)) share_pages(slot);
    leave_slot(request);
    ++r.preemptions;
    if (!keeps(Rule::tell_once)) r.told = 0;
    if (keeps(Rule::count_preemptions)) ++tenants[r.tenant].ledger.preemptions;
    if (!keeps(Rule::resume_in_place)) r.generated = r.generated == 0 ? 0 : r.generated - 1;
    if (r.holds_token && keeps(Rule::wait_unread))
      leave_unread(request, RequestStage::parked);
    else if (keeps(Rule::requeue_preempted))
      enqueue(request);
    else
      r.stage = RequestStage::waiting;
    tell(EventKind::preempted, request);
  }

  /// Ends a request, wherever it is.
  void end(std::uint32_t request, EndReason reason) noexcept {
    RequestRow& r = requests[request];
    TenantRow& t = tenants[r.tenant];
    if (r.stage == RequestStage::waiting) dequeue(request);
    if (r.stage == RequestStage::running) {
      leave_slot(request);
      const std::uint64_t gap = now - last_end < 60'000'000'000u ? now - last_end : 60'000'000'000u;
      end_gap = (7 * end_gap + gap) / 8;
      last_end = now;
    }
    if (r.stage == RequestStage::draining || r.stage == RequestStage::parked) {
      --t.unread;
      --unread;
    }
    if (!r.shares && r.preemptions != 0 && keeps(Rule::drop_own)) drop_scope(domain(request).scope);
    const bool finished = reason == EndReason::stopped || reason == EndReason::length || !keeps(Rule::count_early_ends);
    ++(finished ? t.ledger.requests_finished : t.ledger.requests_ended_early);
    tell(EventKind::ended, request, r.generated, reason);
    if (!keeps(Rule::end_once) && reason == EndReason::cancelled) tell(EventKind::ended, request, r.generated, reason);
    if (r.holds_token) --held;
    unshelve(r);
    free_row(request);
  }
  /// Gives back the row of a request that is nowhere.
  void free_row(std::uint32_t request) noexcept {
    const std::uint32_t generation = requests[request].generation;
    requests[request] = {};
    requests[request].generation = generation;
    (void)free_requests.push_back(request);
  }

  void count_accepted(std::uint32_t request) noexcept {
    const RequestRow& r = requests[request];
    if (keeps(Rule::bill_prompts)) tenants[r.tenant].ledger.prompt_tokens += r.prompt;
    ++tenants[r.tenant].ledger.requests_accepted;
  }

  /// Keeps a request waiting for its client, which does not read.
  void hold(std::uint32_t request) noexcept {
    RequestRow& r = requests[request];
    if (!r.holds_token) ++held;
    r.holds_token = true;
    r.held_since = step;
    r.held_at = now;
  }
  /// Gives the client a token, or holds it for one that does not read.
  void deliver(std::uint32_t request, std::uint32_t token) noexcept {
    RequestRow& r = requests[request];
    if (r.client_blocked) {
      hold(request);
      r.held_token = token;
      return;
    }
    TenantLedger& ledger = tenants[r.tenant].ledger;
    if (keeps(Rule::count_tokens) || r.delivered != 0) ++ledger.delivered_tokens;
    if (r.delivered == 0)
      ledger.first_token.add(keeps(Rule::time_first_token) ? now - r.arrived : 0);
    else
      ledger.token_gap.add(now - r.last_token);
    r.last_token = now;
    ++r.delivered;
    tell(EventKind::token, request, token);
  }

  void add_service(TenantRow& t, std::uint64_t cost) const noexcept {
    t.service += cost * kServiceUnit / (keeps(Rule::weigh_service) ? t.quota.weight : 16);
  }
  /// Counts service: a position of the prompt once, a generated one twice, neither again after a preemption.
  void charge_service(std::uint32_t request, std::uint32_t begin, std::uint32_t end_position) noexcept {
    RequestRow& r = requests[request];
    TenantRow& t = tenants[r.tenant];
    const std::uint32_t first = r.charged > begin ? r.charged : begin;
    const std::uint32_t fresh = end_position > first ? end_position - first : 0;
    t.ledger.computed_tokens += fresh;
    t.ledger.recomputed_tokens += end_position - begin - fresh;
    if (fresh == 0) return;
    const std::uint32_t border = first > r.prompt ? first : end_position < r.prompt ? end_position : r.prompt;
    const std::uint64_t read = keeps(Rule::charge_prefill) ? border - first : 0;
    const std::uint64_t cost = read + std::uint64_t{2} * (end_position - border);
    t.computed += cost;
    add_service(t, cost);
    r.charged = end_position;
  }

 private:
  SchedulerState(const SchedulerLimits& l, Rules r, SharedPages p, PrefixTree<Rules> t, Checkpoints c, StateShelf sh,
                 const Allocator& a) noexcept
      : limits(l),
        rules(r),
        pages(std::move(p)),
        tree(std::move(t)),
        checkpoints(std::move(c)),
        shelf(std::move(sh)),
        budget(l.pages, l.prefix_pages),
        tenants(a),
        sessions(a),
        requests(a),
        free_requests(a),
        slots(a),
        work(a),
        lists(a),
        runs(a),
        events(a),
        shares(a),
        tenant_pages(a) {}
};

}  // namespace zrt::inline ZRT_ABI::serve
