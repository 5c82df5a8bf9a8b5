// SPDX-License-Identifier: Apache-2.0
// zrt/serve/scheduler.hpp: many tenants on one machine, as a function from what happened to what to do.
#pragma once

#include <zrt/serve/fair_admission.hpp>
#include <zrt/serve/run_planner.hpp>
#include <zrt/serve/tenant_arrivals.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// What one step takes in.
struct StepInput {
  Span<const Arrival> arrivals{};
  Span<const Outcome> outcomes{};  ///< of the runs of the step before, in their order; a missing one counts as failed
  std::uint64_t now = 0;  ///< nanoseconds; going back counts as standing still, 0 is a host without a clock so far
  /// That the machine can bear in a step, or 0; budgets and targets may leave fewer.
  std::uint32_t prompt_tokens = ~0u;
  Span<const std::uint32_t> cuts{};  ///< prompt tokens by slot, as a replay dictates them; empty: the planner's own
  Span<const Draft> drafts{};        ///< by slot, of those that decode; see SchedulerLimits::draft_tokens
  std::uint64_t took = 0;  ///< nanoseconds that the machine computed the runs of the step before; 0: not known
};

/// What one step gives out, valid until the next.
struct StepPlan {
  Span<const PlannedRun> runs{};
  Span<const StepEvent> events{};
  std::uint32_t unread_arrivals = 0;  ///< beyond SchedulerLimits::arrivals: to be given again
};

/// Serves tenants by quotas, classes and weights (docs/scheduler.md).
///
/// step() is a function of the state, its input and the time: no clock, no thread, no random number, and after make()
/// no allocation. The same inputs give the same plans. A host computes the runs, reading pages(slot) for where keys and
/// values lie, and gives the outcomes to the next step. No page of a run in the making is given to another: pages
/// change hands in step() alone, which begins with the outcomes.
///
/// What else a slot has, be it recurrent state or the pages that a window shows, is state: it is kept in checkpoints.
///
/// It serves one model. Where several share a machine, each has a scheduler of its own, and charge() tells it what its
/// tenants had of the others (engine/model_set.hpp).
template <class Rules = AllRules> class Scheduler {
 public:
  [[nodiscard]] static Result<Scheduler> make(const SchedulerLimits& limits, const Allocator& allocator,
                                              Rules rules = {}) noexcept {
    auto state = SchedulerState<Rules>::make(limits, rules, allocator);
    if (!state) return pass(state);
    return Scheduler(std::move(*state));
  }

  [[nodiscard]] StepPlan step(const StepInput& in) noexcept {
    s_.events.clear();
    ++s_.step;
    pass_time(in.now);
    settle(in.outcomes, in.took);
    const std::size_t most = in.arrivals.size() < s_.limits.arrivals ? in.arrivals.size() : s_.limits.arrivals;
    for (std::size_t i = 0; i < most; ++i) take(in.arrivals[i]);
    end_slow_clients();
    plan(in);
    // Who computes nothing keeps its slot from others while others compute: a machine that would stand still looks again.
    s_.stands_still = s_.runs.empty() && s_.queued != 0;
    if (s_.stands_still) {
      if (s_.floor_slot != kNone && s_.work[s_.floor_slot].admitted != s_.step) s_.free_floor();
      plan(in);
      s_.stands_still = false;
    }
    count_idle();
    s_.quiet = s_.runs.empty() && s_.events.empty();
    return {s_.runs.span(), s_.events.span(), static_cast<std::uint32_t>(in.arrivals.size() - most)};
  }

  /// Takes the outcomes of the last step's runs before the next step, which then takes none, and how long they took, 0
  /// where that is not known. Events are added to events().
  void settle(Span<const Outcome> outcomes, std::uint64_t took = 0) noexcept {
    learn(took);
    for (std::size_t i = 0; i < s_.runs.size(); ++i) {
      const PlannedRun run = s_.runs[i];
      Outcome outcome;
      outcome.failed = true;
      if (i < outcomes.size()) outcome = outcomes[i];
      finish(run, outcome);
    }
    s_.runs.clear();
  }
  /// Takes an arrival between steps, when no run is in the making. Events are added to events().
  void arrive(const Arrival& arrival) noexcept { take(arrival); }
  /// The same for an arrival that is answered at once, as those of tenants and sessions are. Gives the answer, which is
  /// no event of the step.
  [[nodiscard]] StepEvent ask(const Arrival& arrival) noexcept {
    std::size_t at = s_.events.size();
    take(arrival);
    const auto of_request = [](EventKind kind) { return kind == EventKind::ended || kind == EventKind::preempted; };
    while (of_request(s_.events[at].kind)) ++at;
    const StepEvent answer = s_.events[at];
    for (; at + 1 < s_.events.size(); ++at) s_.events[at] = s_.events[at + 1];
    s_.events.pop_back();
    return answer;
  }
  /// Those of the last step, and of what came after it.
  [[nodiscard]] Span<const StepEvent> events() const noexcept { return s_.events.span(); }

  /// Nanoseconds from `now` in which a step can do nothing unless something arrives: everybody at hand has used up a rate,
  /// or waits for its client.
  /// 0 where a step has something to do, or may have; kUntilSubmit where there is no request. After that time tokens
  /// leave a window, which may not be enough yet: ask again.
  [[nodiscard]] std::uint64_t idle(std::uint64_t now) const noexcept {
    if (s_.free_requests.size() == s_.requests.size()) return kUntilSubmit;
    if (!s_.quiet) return 0;
    if (!s_.admits && s_.free_slots() == s_.limits.slots && s_.held == 0) return kUntilSubmit;
    std::uint64_t wait = kUntilSubmit;
    for (std::uint32_t i = 0; i < s_.requests.size() && s_.held != 0; ++i) {
      const RequestRow& r = s_.requests[i];
      if (r.stage == RequestStage::free || !r.holds_token) continue;
      const std::uint64_t left = until_slow(r, s_.now);
      if (left == 0) return 0;  // some steps, and it ends
      wait = left < wait ? left : wait;
    }
    for (const TenantRow& t : s_.tenants)
      if (t.live && t.backlogged()) {
        const std::uint64_t own = t.until_rate(s_.now);
        if (own != 0 && own < wait) wait = own;
      }
    const std::uint64_t passed = now > s_.now ? now - s_.now : 0;
    return wait != kUntilSubmit && wait > passed ? wait - passed : 0;
  }

  /// Nanoseconds from `now` in which no request may begin, because the tenants of all that wait have used up their rates.
  /// 0 where one may, as far as rates go; kUntilSubmit where none waits.
  [[nodiscard]] std::uint64_t rate_wait(std::uint64_t now) noexcept {
    pass_time(now);
    std::uint64_t wait = kUntilSubmit;
    for (const TenantRow& t : s_.tenants)
      if (t.live && t.queued != 0) {
        const std::uint64_t own = t.until_rate(s_.now);
        wait = own < wait ? own : wait;
      }
    return wait;
  }

  /// Takes a request whose first `position` positions the host has in a state of its own. It begins at once, in a slot
  /// with pages for them, with `generated` tokens behind its prompt, or not at all: 0 where no slot or page is free.
  [[nodiscard]] Handle adopt(const Arrival& a, std::uint32_t generated, std::uint32_t position) noexcept {
    const std::uint32_t tenant = s_.find_tenant(a.subject);
    std::uint64_t retry_after = 0;
    if (tenant == kNone || s_.tenants[tenant].first != kNone || judge(a, tenant, retry_after) != Refusal::none)
      return 0;
    s_.quiet = false;
    const std::uint32_t request = queue(a, tenant);
    RequestRow& r = s_.requests[request];
    r.generated = r.delivered = generated;
    r.last_token = s_.now;
    if (!FairAdmission<Rules>(s_).resume(request, position)) {
      s_.dequeue(request);  // nobody has heard of it
      s_.free_row(request);
      return 0;
    }
    s_.count_accepted(request);
    return s_.request_handle(request);
  }

  /// Answers a submission that asks for no token more and takes no place: refused, or accepted and finished, as the
  /// ledger says. No prompt is read, so none is billed.
  [[nodiscard]] Refusal pass_empty(const Arrival& a) noexcept {
    const std::uint32_t tenant = s_.find_tenant(a.subject);
    if (tenant == kNone) return Refusal::unknown_subject;
    TenantRow& t = s_.tenants[tenant];
    const Refusal why = judge_size(a, t);
    if (why != Refusal::none) {
      ++t.ledger.requests_refused;
      return why;
    }
    ++t.ledger.requests_accepted;
    ++t.ledger.requests_finished;
    return Refusal::none;
  }

  /// Whether requests that wait may begin. What runs goes on either way, but one that is preempted waits too.
  void admit(bool on) noexcept {
    s_.admits = on;
    s_.quiet = false;
  }
  /// Gives back every page that no slot lists: prefixes are forgotten, and states that were kept or wait on the shelf.
  void drop_cache() noexcept {
    while (s_.evict_oldest()) {
    }
    for (RequestRow& r : s_.requests)
      if (r.shelf != kNone && r.stage != RequestStage::running) s_.unshelve(r);
  }

  /// Lets preempted requests of a model with state beside its pages go on where they were: the host has memory for the
  /// SchedulerLimits::shelf states.
  void open_shelf() noexcept { s_.shelf.open(); }
  /// Calls `copy(const ShelvedState&)` for each state that is to be copied before anything runs in its slot again. The
  /// host asks behind whatever may preempt, before it uses a slot. Errors: those of `copy`.
  template <class Copy> [[nodiscard]] Result<void> copy_shelved(const Copy& copy) noexcept {
    for (const ShelvedState& state : s_.shelf.copies())
      if (auto r = copy(state); !r) return r;
    s_.shelf.copied();
    return {};
  }

  /// Says what time it is to the pages, which count theirs with or without tenants.
  void time_pages(std::uint64_t now) noexcept { s_.pages.pass_time(now); }

  /// Whether a session is open, and a tenant's.
  [[nodiscard]] bool has_session(Handle session, Handle tenant) const noexcept {
    const std::uint32_t row = s_.find_session(session);
    return row != kNone && s_.tenant_handle(s_.sessions[row].tenant) == tenant;
  }
  /// What a tenant has had of this machine, and whether it could have more `now`; nothing for one that is not there.
  [[nodiscard]] TenantUse use(Handle tenant, std::uint64_t now) noexcept {
    pass_time(now);
    const std::uint32_t row = s_.find_tenant(tenant);
    if (row == kNone) return {};
    TenantUse use = s_.tenants[row].use();
    use.ready = FairAdmission<Rules>::eligible(s_, row);
    for (std::uint32_t slot = 0; slot < s_.slots.size() && !use.ready; ++slot)
      use.ready = s_.slots[slot].tenant == tenant &&
                  (RunPlanner<Rules>::can_decode(s_, slot) || RunPlanner<Rules>::can_prefill(s_, slot));
    return use;
  }
  /// Counts what a tenant has had elsewhere up to `now`, as if it had had it here: its service and its rates.
  void charge(Handle tenant, const TenantUse& elsewhere, std::uint64_t now) noexcept {
    const std::uint32_t row = s_.find_tenant(tenant);
    if (row == kNone) return;
    pass_time(now);
    TenantRow& t = s_.tenants[row];
    if (elsewhere.service != 0) FairAdmission<Rules>::pass_virtual_time(s_, t);
    t.decoded.add(elsewhere.decoded);
    t.prefilled.add(elsewhere.prefilled);
    s_.add_service(t, elsewhere.service);
  }

  /// A free slot, or kNone, for work of the host's own that ends before the next step.
  [[nodiscard]] std::uint32_t free_slot(std::uint32_t from = 0) const noexcept {
    for (std::uint32_t slot = from; slot < s_.work.size(); ++slot)
      if (s_.work[slot].request == kNone) return slot;
    return kNone;
  }
  /// A page for such work; kNone when all are listed.
  [[nodiscard]] std::uint32_t lend_page() noexcept {
    std::uint32_t page = s_.pages.take({}, kNone);
    if (page == kNone && s_.evict_oldest()) page = s_.pages.take({}, kNone);
    return page;
  }
  void return_page(std::uint32_t page) noexcept { s_.pages.release(page, false); }

  /// The pages of a slot: positions 16 i to 16 i + 15 lie in page i.
  [[nodiscard]] Span<const std::uint32_t> pages(std::uint32_t slot) const noexcept { return s_.list(slot); }
  /// The ledger of a tenant; null for one that is not there.
  [[nodiscard]] const TenantLedger* ledger(Handle tenant) const noexcept {
    const std::uint32_t row = s_.find_tenant(tenant);
    return row == kNone ? nullptr : &s_.tenants[row].ledger;
  }
  [[nodiscard]] const SchedulerState<Rules>& state() const noexcept { return s_; }

 private:
  explicit Scheduler(SchedulerState<Rules> state) noexcept : s_(std::move(state)) {}

  void plan(const StepInput& in) noexcept {
    FairAdmission<Rules>(s_).run();
    RunPlanner<Rules>(s_).run(in.prompt_tokens, in.cuts, in.drafts);
  }

  /// Whether a slot's client and its tenant's rate let it compute.
  [[nodiscard]] bool can_compute(std::uint32_t slot) const noexcept {
    return RunPlanner<Rules>::can_decode(s_, slot) || RunPlanner<Rules>::can_prefill(s_, slot);
  }
  /// A step in which a slot has a run makes up for one in which its client or its tenant's rate held it up.
  void count_idle() noexcept {
    for (std::uint32_t& share : s_.shares) share = 0;
    for (const PlannedRun& run : s_.runs) s_.shares[run.slot] = run.count;
    for (std::uint32_t slot = 0; slot < s_.slots.size(); ++slot) {
      SlotWork& w = s_.work[slot];
      if (w.request == kNone) continue;
      if (s_.shares[slot] != 0)
        w.idle = w.idle == 0 || !s_.keeps(Rule::add_up_idle) ? 0 : w.idle - 1;
      else if (!can_compute(slot))
        ++w.idle;
    }
  }

  void pass_time(std::uint64_t now) noexcept {
    if (s_.now == 0 && now != 0) begin_time(now);
    if (now > s_.now) s_.now = now;
    for (TenantRow& t : s_.tenants)
      if (t.advance(s_.now) && t.live && t.backlogged()) s_.quiet = false;
  }

  /// The host begins to read its clock: what came before is measured from here.
  void begin_time(std::uint64_t now) noexcept {
    s_.last_end = now;
    for (RequestRow& r : s_.requests) r.arrived = r.last_token = r.held_at = now;
  }

  // --- outcomes ---

  void learn(std::uint64_t took) noexcept {
    std::uint32_t prompt = 0, others = 0;
    for (const PlannedRun& run : s_.runs) (run.decode ? others : prompt) += run.count;
    s_.pace.learn(others, prompt, took);
  }

  void finish(const PlannedRun& run, const Outcome& outcome) noexcept {
    SlotWork& w = s_.work[run.slot];
    SlotRow& row = s_.slots[run.slot];
    const std::uint32_t request = w.request;
    // A run that is repeated loads its state again.
    if (!outcome.again) loaded(run.slot);
    row.speculative_tokens = 0;
    if (outcome.failed) {
      if (run.save != kNone) s_.checkpoints.free(run.save);
      s_.end(request, EndReason::failed);
      for (std::uint32_t i = 0; i < s_.requests.size() && !s_.keeps(Rule::spare_waiting); ++i)
        if (s_.requests[i].stage == RequestStage::waiting) s_.end(i, EndReason::failed);
      return;
    }
    const std::uint32_t accepted = take_drafts(run, outcome);
    row.position = outcome.again ? run.begin : run.begin + run.count - (run.drafts - accepted);
    if (s_.keeps(Rule::drop_drafts)) s_.drop_pages(run.slot);
    if (outcome.again) return;
    const std::uint32_t* list = s_.list(run.slot);
    for (std::uint32_t i = run.begin / kPageTokens; i < row.pages; ++i) {
      const std::uint32_t left = row.position - i * kPageTokens;
      s_.pages.fill(list[i], left < kPageTokens ? left : kPageTokens);
    }
    if (s_.requests[request].shares) s_.share_pages(run.slot);
    if (run.save != kNone) keep_state(run, list);
    RequestRow& r = s_.requests[request];
    const std::uint32_t read = row.position < r.scored ? row.position : r.scored;
    r.told = r.told < read ? read : r.told;
    if (r.tells() && r.client_blocked && s_.keeps(Rule::hold_prompts)) s_.hold(request);
    // A run that its rate cut short.
    if (!run.sample && r.decodes_at(row.position)) row.stage = SlotStage::decode;
    if (!run.sample) return;
    for (std::uint32_t i = 0; i < accepted; ++i) add_token(request, r.tokens[r.known()]);
    if (outcome.empty) return complete(request, true);
    add_token(request, outcome.token);
    if (outcome.last || r.generated == r.most) complete(request, outcome.last);
  }

  /// A slot's first run has taken its state over.
  void loaded(std::uint32_t slot) noexcept {
    SlotWork& w = s_.work[slot];
    if (w.load != kNone) s_.checkpoints.unpin(w.load);
    if (w.shelf != kNone) s_.unshelve(s_.requests[w.request]);
    w.load = w.shelf = kNone;
  }

  void add_token(std::uint32_t request, std::uint32_t token) noexcept {
    RequestRow& r = s_.requests[request];
    r.tokens[r.known()] = token;
    ++r.generated;
    s_.slots[r.slot].generated_tokens = r.generated;
    s_.slots[r.slot].stage = SlotStage::decode;
    s_.deliver(request, token);
  }

  /// Counts the drafts of a run that are tokens of the answer; the others count for nothing.
  [[nodiscard]] std::uint32_t take_drafts(const PlannedRun& run, const Outcome& outcome) noexcept {
    if (run.drafts == 0) return 0;
    const std::uint32_t request = s_.work[run.slot].request;
    TenantRow& t = s_.tenants[s_.requests[request].tenant];
    const std::uint32_t drawn = outcome.accepted + (s_.keeps(Rule::verify_drafts) ? 0 : 1);
    const std::uint32_t accepted = drawn < run.drafts ? drawn : run.drafts;
    const std::uint32_t first = run.begin + run.count - run.drafts;
    if (s_.keeps(Rule::return_drafts)) t.decoded.give_back(outcome.again ? run.count : run.drafts - accepted);
    t.ledger.drafted_tokens += run.drafts;
    t.ledger.accepted_drafts += accepted;
    ++t.ledger.drafts;
    s_.charge_service(request, first, first + accepted);
    return accepted;
  }

  /// Binds the kept state to the page before it.
  void keep_state(const PlannedRun& run, const std::uint32_t* list) noexcept {
    const std::uint32_t page = list[(run.begin + run.count - 1) / kPageTokens];
    if (!s_.tree.contains(page) || s_.tree.checkpoint(page) != kNone) {
      s_.checkpoints.free(run.save);
      return;
    }
    s_.checkpoints.bind(run.save, page);
    s_.tree.set_checkpoint(page, run.save);
  }

  /// Ends a request whose tokens are all there, now or when its client has read the last.
  void complete(std::uint32_t request, bool stopped) noexcept {
    RequestRow& r = s_.requests[request];
    if (!r.holds_token) {
      s_.end(request, stopped ? EndReason::stopped : EndReason::length);
      return;
    }
    s_.leave_slot(request);
    s_.leave_unread(request, RequestStage::draining);
    r.most = stopped ? 0 : r.generated;
  }

  // --- arrivals ---

  void take(const Arrival& a) noexcept {
    s_.quiet = false;
    switch (a.kind) {
      case ArrivalKind::create_tenant:
        return TenantArrivals<Rules>(s_).create(a);
      case ArrivalKind::change_tenant:
        return TenantArrivals<Rules>(s_).change(a);
      case ArrivalKind::remove_tenant:
        return TenantArrivals<Rules>(s_).remove(a);
      case ArrivalKind::open_session:
        return TenantArrivals<Rules>(s_).open(a);
      case ArrivalKind::close_session:
        return TenantArrivals<Rules>(s_).close(a);
      case ArrivalKind::submit:
        return submit(a);
      case ArrivalKind::cancel:
      case ArrivalKind::client_blocked:
      case ArrivalKind::client_ready:
        return change_request(a);
      case ArrivalKind::drop_cache:
        return drop_cache();
    }
  }

  /// Why a submission is refused, whatever waits.
  [[nodiscard]] Refusal judge_size(const Arrival& a, const TenantRow& t) const noexcept {
    if (a.session != 0 && !has_session(a.session, a.subject) && s_.keeps(Rule::compare_session))
      return Refusal::unknown_subject;
    if (a.tokens == nullptr || a.prompt == 0) return Refusal::empty_request;
    const std::uint64_t tokens = std::uint64_t{a.prompt} + a.most;
    if (tokens > s_.limits.context || (s_.keeps(Rule::context_quota) && tokens > t.quota.max_context))
      return Refusal::context_too_long;
    const std::uint32_t pages = pages_for(a.prompt + a.most - 1);
    if (pages > t.quota.max_pages || pages > t.quota.reserved_pages + s_.budget.floating())
      return Refusal::pages_too_many;
    return Refusal::none;
  }
  /// The same, and after how long it may be tried again.
  [[nodiscard]] Refusal judge(const Arrival& a, std::uint32_t tenant, std::uint64_t& retry_after) const noexcept {
    const TenantRow& t = s_.tenants[tenant];
    if (const Refusal why = judge_size(a, t); why != Refusal::none) return why;
    if (a.most == 0) return Refusal::empty_request;
    const std::uint32_t left = t.queued + (s_.keeps(Rule::count_unread) ? t.unread : 0);
    const std::uint64_t clear = s_.end_gap * (std::uint64_t{left} + 1);
    constexpr std::uint64_t kLeast = 10'000'000;
    constexpr std::uint64_t kMost = 60'000'000'000u;
    retry_after = s_.end_gap < kLeast ? kLeast : s_.end_gap < kMost ? s_.end_gap : kMost;
    const std::uint64_t begins = slots_for(t);
    if (s_.keeps(Rule::queue_depth) && s_.waiting() >= s_.limits.queue + begins) return Refusal::queue_full;
    if ((s_.keeps(Rule::share_queue) && left >= places_for(t) + begins) || s_.free_requests.empty())
      return Refusal::queue_full;
    if (left >= t.quota.max_queued + begins) {
      retry_after = clear / (t.slots + 1) < kLeast ? kLeast : clear / (t.slots + 1);
      retry_after = retry_after < kMost ? retry_after : kMost;
      return Refusal::tenant_queue_full;
    }
    return Refusal::none;
  }

  /// How many requests of a tenant may wait, because of all that do: 8, 4 or 2 times the places that are left in the queue,
  /// by class. So tenants that fill it leave places for others, and most for higher classes. A tenant alone may have all.
  /// (Dynamic queue length thresholds: Choudhury, Hahne, 1998.)
  [[nodiscard]] std::uint64_t places_for(const TenantRow& t) const noexcept {
    std::uint32_t tenants = 0;
    for (std::size_t i = 0; i < s_.tenants.size() && tenants < 2; ++i) tenants += s_.tenants[i].live ? 1u : 0u;
    const std::uint32_t left = s_.limits.queue > s_.waiting() ? s_.limits.queue - s_.waiting() : 0;
    if (tenants < 2) return ~0u;
    return (std::uint64_t{left} * 8) >> static_cast<std::uint32_t>(t.quota.service);
  }

  /// Slots that a tenant may have at once, free ones and those of lower classes, but for as many as others wait for that
  /// come first: as many requests begin, where there are pages, in the step in which they come.
  [[nodiscard]] std::uint32_t slots_for(const TenantRow& t) const noexcept {
    const std::uint32_t own = t.quota.max_slots > t.slots ? t.quota.max_slots - t.slots : 0;
    std::uint32_t found = 0;
    for (std::uint32_t slot = 0; slot < s_.slots.size(); ++slot)
      found +=
          s_.work[slot].request == kNone || may_take(s_, slot, static_cast<std::uint32_t>(t.quota.service)) ? 1u : 0u;
    // A flood asks again and again while there is none.
    if (own == 0 || found == 0) return 0;
    for (const TenantRow& other : s_.tenants)
      if (&other != &t && other.quota.service <= t.quota.service) found -= other.queued < found ? other.queued : found;
    return own < found ? own : found;
  }

  void submit(const Arrival& a) noexcept {
    const std::uint32_t tenant = s_.find_tenant(a.subject);
    if (tenant == kNone) return refuse(s_, a, Refusal::unknown_subject);
    TenantRow& t = s_.tenants[tenant];
    std::uint64_t retry_after = 0;
    const Refusal why = judge(a, tenant, retry_after);
    if (why != Refusal::none) {
      if (s_.keeps(Rule::count_refused)) ++t.ledger.requests_refused;
      const bool passes = why == Refusal::queue_full || why == Refusal::tenant_queue_full;
      return refuse(s_, a, why, passes ? retry_after : 0);
    }
    const std::uint32_t request = queue(a, tenant);
    s_.count_accepted(request);
    s_.tell(EventKind::accepted, request);
  }

  /// Puts a request in its tenant's queue.
  [[nodiscard]] std::uint32_t queue(const Arrival& a, std::uint32_t tenant) noexcept {
    TenantRow& t = s_.tenants[tenant];
    if (t.queued == 0) s_.lift(t);
    if (s_.free_requests.size() == s_.requests.size()) s_.last_end = s_.now;  // idle time says nothing of the pace
    const std::uint32_t request = s_.free_requests.back();
    s_.free_requests.pop_back();
    RequestRow& r = s_.requests[request];
    const std::uint32_t generation = r.generation;
    r = {};
    r.generation = generation + 1;
    r.tenant = tenant;
    r.session = a.session == 0 ? kNone : row_of(a.session);
    r.tag = a.tag;
    r.sequence = ++s_.sequence;
    r.tokens = a.tokens;
    r.prompt = a.prompt;
    r.most = a.most;
    r.adapter = a.adapter;
    r.scored = a.scored;
    r.step_latency = s_.keeps(Rule::take_target) ? a.step_latency : 0;
    r.shares = a.shares;
    r.arrived = s_.now;
    s_.enqueue(request);
    return request;
  }

  void change_request(const Arrival& a) noexcept {
    const std::uint32_t request = s_.find_request(a.subject);
    if (request == kNone) return refuse(s_, a, Refusal::unknown_subject);
    RequestRow& r = s_.requests[request];
    if (a.kind == ArrivalKind::cancel) {
      if (s_.keeps(Rule::cancel_at_once) || r.stage != RequestStage::running) s_.end(request, EndReason::cancelled);
      return;
    }
    r.client_blocked = a.kind == ArrivalKind::client_blocked;
    if (r.client_blocked || !r.holds_token) return;
    r.holds_token = false;
    --s_.held;
    if (!r.tells() && s_.keeps(Rule::deliver_held)) s_.deliver(request, r.held_token);
    if (r.stage == RequestStage::draining) return s_.end(request, r.most == 0 ? EndReason::stopped : EndReason::length);
    if (r.stage == RequestStage::parked) s_.unpark(request);
  }

  /// Nanoseconds from `now` that the client of a held token still has.
  [[nodiscard]] std::uint64_t until_slow(const RequestRow& r, std::uint64_t now) const noexcept {
    const std::uint64_t held = now > r.held_at ? now - r.held_at : 0;
    return s_.limits.slow_ns > held ? s_.limits.slow_ns - held : 0;
  }

  void end_slow_clients() noexcept {
    if (s_.held == 0 || !s_.keeps(Rule::end_slow_clients)) return;
    for (std::uint32_t i = 0; i < s_.requests.size(); ++i) {
      const RequestRow& r = s_.requests[i];
      if (r.stage != RequestStage::free && r.holds_token && s_.step - r.held_since > s_.limits.slow_steps &&
          (until_slow(r, s_.now) == 0 || !s_.keeps(Rule::wait_for_clients)))
        s_.end(i, EndReason::client_too_slow);
    }
  }

  SchedulerState<Rules> s_;
};

}  // namespace zrt::inline ZRT_ABI::serve
