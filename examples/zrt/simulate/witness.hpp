// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate/witness.hpp: what tenants were promised, checked against what a scheduler did.
#pragma once

#include "machine.hpp"
#include "rate_window.hpp"
#include <zrt/serve/draft_length.hpp>

#include <map>

namespace simulate {

/// A request as its client sees it.
struct Seen {
  serve::Handle handle = 0;
  std::vector<std::uint32_t> tokens{};  ///< the prompt, and room for the answer
  std::uint32_t prompt = 0;
  std::uint32_t most = 0;
  std::uint32_t adapter = 0;
  std::uint32_t own = 0;     ///< its number, where nobody else may find its pages: they hold something of its own
  std::uint32_t tenant = 0;  ///< row
  serve::Handle session = 0;
  std::uint64_t target = 0;  ///< nanoseconds of a step while it runs; 0: none
  std::uint32_t fails_at = 0;
  std::uint32_t runs = 0;
  std::uint64_t hash = 0;  ///< of the first `hashed` tokens
  std::uint32_t hashed = 0;
  std::uint64_t told_hash = 0;  ///< of the first `read` tokens
  std::uint32_t generated = 0;
  std::uint32_t delivered = 0;
  std::uint32_t scored = 0;    ///< leading positions whose logits are wanted, and
  std::uint32_t read = 0;      ///< of these, those that were read
  std::uint32_t computed = 0;  ///< positions that were computed once, or found
  std::uint32_t preemptions = 0;
  std::uint32_t behind = 0;        ///< position that its slot's state stands behind, or that of the shelf
  std::uint64_t evictions = 0;     ///< of pages, before it was preempted
  std::uint64_t unread_since = 0;  ///< step
  std::uint64_t unread_at = 0;     ///< nanoseconds
  std::uint64_t arrived = 0;       ///< nanoseconds
  std::uint64_t order = 0;         ///< in which they were accepted
  std::uint64_t told = 0;          ///< nanoseconds: when its last token was delivered
  serve::DraftLength luck{};
  bool submitted = false;
  bool answered = false;  ///< accepted or refused
  bool accepted = false;
  bool admitted = false;  ///< once or more
  bool waits = false;
  bool parked = false;   ///< preempted, and its client does not read
  bool ran = false;      ///< since it was admitted
  bool shelved = false;  ///< its state waits for it
  bool blocked = false;  ///< its client does not read
  bool stalls = false;   ///< and so the rest of its prompt is not read
  bool silent = false;   ///< no token is drawn
  bool complete = false;
  bool stopped = false;  ///< by the model, before it had all tokens
  bool failed = false;   ///< a run of it did
  bool ended = false;
  bool cancelled = false;

  /// What the machine's entries hold beside the token.
  [[nodiscard]] std::uint32_t variant() const { return own << 8 | adapter; }
  [[nodiscard]] bool tells() const { return read < scored; }
  /// Whether something waits for its client.
  [[nodiscard]] bool is_unread() const { return stalls || generated != delivered; }
  /// Logits that are read of a run of its prompt.
  [[nodiscard]] std::uint32_t told_by(const serve::PlannedRun& run) const {
    const std::uint32_t first = std::max(run.begin, read);
    const std::uint32_t last = std::min(run.begin + run.count, scored);
    return last > first ? last - first : 0;
  }
  /// Tokens of a run of which one reaches the head: those that were told before, and the next.
  [[nodiscard]] std::uint32_t own_tokens(std::uint32_t begin) const { return (read > begin ? read - begin : 0) + 1; }
  /// Whether it counts in the queue: it waits for a slot or, in none, for its client.
  [[nodiscard]] bool is_left() const { return waits || parked || complete; }
};

/// Holds each step against the promises: answers as alone, each end once, quotas, classes, fairness, no starvation.
/// An end and a refusal have a cause in the script. It keeps its own counts, and takes from the scheduler only which
/// requests wait and which are blocked.
template <class Rules> class Witness {
 public:
  using State = serve::SchedulerState<Rules>;

  Witness(const Script& script, const SimulatedMachine& machine, std::vector<Seen>& requests)
      : script_(script),
        machine_(machine),
        requests_(requests),
        tenants_(script.limits.tenants),
        pairs_(tenants_.size() * tenants_.size()),
        visits_(tenants_.size() * tenants_.size()),
        turns_(std::size_t{script.limits.slots} * script.limits.slots),
        stalled_(script.limits.slots),
        short_steps_(has_short_steps(script)) {}

  /// The first promise that was broken; empty while all are kept.
  [[nodiscard]] const std::string& broken() const { return broken_; }
  void fail(const std::string& what) {
    if (broken_.empty()) broken_ = what;
  }

  /// Before a step: its time, and what came of each run.
  void before(std::uint64_t now) {
    now_ = now > now_ ? now : now_;
    ++step_;
    preempted_ = 0;
    admitted_.clear();
  }
  /// What the step hears, in order.
  void hears(const std::vector<serve::Arrival>& arrivals) {
    arrivals_ = &arrivals;
    heard_ = 0;
  }
  void outcome(Seen& r, std::uint32_t tenant, const serve::PlannedRun& run, const serve::Outcome& o) {
    if (run.drafts != 0) drafts(r, tenant, run, o);
    r.failed = o.failed;
    if (!o.again) {
      r.shelved = false;
      r.ran = true;
      r.behind = run.begin + run.count - (run.drafts - std::min(o.accepted, run.drafts));
    }
    if (o.failed || o.again || !run.sample) return;
    if (o.empty) {
      r.complete = r.stopped = true;
      return;
    }
    if (r.generated == r.delivered) r.unread_since = step_, r.unread_at = now_;
    r.generated += 1 + o.accepted;
    r.complete = o.last || r.generated == r.most;
    r.stopped = o.last;
  }

  /// The host reads the wanted logits of a run: each once, in order, and as the prompt has them alone.
  void tell(Seen& r, const serve::PlannedRun& run, zrt::Span<const std::uint32_t> list) {
    const std::uint32_t end = std::min(run.begin + run.count, r.scored);
    if (run.begin > r.read) fail("logits of a prompt are left out");
    for (; r.read < end; ++r.read) {
      r.told_hash = mixed(r.told_hash, SimulatedMachine::entry_of(r.tokens[r.read], r.variant()));
      if (machine_.read(list, r.read + 1) != r.told_hash) fail("logits of a prompt are not what they are alone");
    }
    if (run.sample && r.tells()) fail("a token is drawn before the prompt is told");
    if (!r.tells() || !r.blocked) return;
    r.stalls = true;
    r.unread_since = step_;
    r.unread_at = now_;
  }

  void see(const serve::StepEvent& e, const State& s) {
    const std::uint32_t row = serve::row_of(e.tenant);
    switch (e.kind) {
      case serve::EventKind::tenant_created:
        return create(row, e, answered(e));
      case serve::EventKind::tenant_changed:
        return change(row, e, answered(e));
      case serve::EventKind::tenant_removed:
        if (answered(e).subject != e.tenant || !is_live(e.tenant)) fail("a tenant goes that was to stay");
        std::erase_if(open_, [&e](const auto& session) { return session.second == e.tenant; });
        tenants_[row].handle = 0;
        tenants_[row].left[class_of(row)] = tenants_[row].service;
        close_pairs(row);
        return;
      case serve::EventKind::accepted:
        return accept(requests_[e.tag], row, s, answered(e));
      case serve::EventKind::refused:
        return refuse(e, s, answered(e));
      case serve::EventKind::admitted:
        return admit(requests_[e.tag], e, s);
      case serve::EventKind::token:
        return token(requests_[e.tag], e);
      case serve::EventKind::preempted:
        return preempt(requests_[e.tag], e, s);
      case serve::EventKind::ended:
        return end(requests_[e.tag], e);
      case serve::EventKind::session_opened:
        if (answered(e).subject != e.tenant || !is_live(e.tenant)) fail("a session is opened for nobody");
        open_[e.subject] = e.tenant;
        if (++tenants_[row].open > tenants_[row].quota.max_sessions) fail("a tenant has more sessions than it may");
        return;
      case serve::EventKind::session_closed:
        if (answered(e).subject != e.subject || open_.erase(e.subject) == 0) fail("a session is closed that was none");
        --tenants_[row].open;
        for (const Seen& r : requests_)
          if (r.accepted && !r.ended && r.session == e.subject) fail("a request outlives its session");
        return;
    }
  }

  /// After a step and its events.
  void after(const State& s) {
    take_notes();
    while (heard_ < arrivals_->size())
      if (is_answered((*arrivals_)[heard_++].kind)) fail("an arrival is not answered");
    order(s);
    turns(s);
    runs(s);
    rows(s);
    present(s);
    rate_turns(s);
    prompts(s);
    service(s);
    fairness(s);
    stalls(s);
    classes(s);
    floor(s);
    floor_is_used(s);
    prompt_order(s);
    users(s);
    visits(s);
    clients(s);
    ledgers(s);
    evictions_ = s.pages.evictions();
  }

 private:
  struct Kept {
    serve::Handle handle = 0;
    serve::ServiceClass service_class{};
    serve::TenantQuota quota{};
    std::uint64_t changed = 0;  ///< step
    std::uint32_t open = 0;     ///< sessions
    std::uint64_t first = 0;    ///< the request that waited for the floor before the step; 0: none
    std::uint32_t waiting = 0;  ///< requests
    RateWindow decoded{};
    RateWindow prefilled{};
    std::array<std::uint64_t, serve::kServiceClasses> left{};  ///< service of the last tenant of each class in the row
    std::uint64_t service = 0;                                 ///< with lifts, and what a tenant before it left
    std::uint64_t served = 0;                                  ///< without
    std::uint64_t most_cost = 0;
    std::uint64_t most_slots = 0;
    std::uint32_t weight = 1;          ///< at its last run
    std::uint32_t least_weight = ~0u;  ///< that it has had
    serve::TenantLedger ledger{};      ///< as it should be
  };
  /// An interval in which two tenants of a class always had requests waiting.
  struct Pair {
    bool open = false;
    std::uint64_t served_a = 0;
    std::uint64_t served_b = 0;
  };

  /// A tenant whose request was admitted in the step, and its service before.
  struct Admitted {
    std::uint32_t tenant = 0;
    std::uint64_t service = 0;
  };
  /// How often a tenant came to the floor while another of its class waited for it, and how often it may.
  struct Visits {
    std::uint64_t count = 0;    ///< of those that brought it service at once
    std::uint64_t service = 0;  ///< its own before the step
    std::uint64_t most = ~std::uint64_t{0};
  };

  /// By which counts of service may differ that were rounded at different times.
  static constexpr std::uint64_t kRounding = 4000;

  static std::uint64_t difference(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

  // --- events ---

  /// Drafts count against rates and as service where they are tokens of the answer.
  void drafts(Seen& r, std::uint32_t row, const serve::PlannedRun& run, const serve::Outcome& o) {
    const std::uint32_t accepted = o.again || o.failed ? 0 : o.accepted;
    serve::TenantLedger& ledger = tenants_[row].ledger;
    if (!o.failed) {
      tenants_[row].decoded.give_back(now_, o.again ? run.count : run.drafts - accepted);
      ledger.drafted_tokens += run.drafts;
      ++ledger.drafts;
    }
    ledger.accepted_drafts += accepted;
    const std::uint32_t known = run.begin + run.count - run.drafts;
    serve_positions(r, row, known, known + accepted);
  }
  void serve_positions(Seen& r, std::uint32_t row, std::uint32_t begin, std::uint32_t end) {
    Kept& t = tenants_[row];
    std::uint64_t cost = 0;
    t.ledger.recomputed_tokens += std::min(std::max(begin, r.computed), end) - begin;
    for (std::uint32_t p = std::max(begin, r.computed); p < end; ++p, ++t.ledger.computed_tokens)
      cost += p < r.prompt ? 1 : 2;
    r.computed = std::max(r.computed, end);
    t.service += cost * serve::kServiceUnit / t.weight;
    t.served += cost * serve::kServiceUnit / t.weight;
  }

  // --- causes ---

  /// Whether each arrival of a kind has an answer; notes about requests have one only where they are refused.
  [[nodiscard]] static bool is_answered(serve::ArrivalKind kind) {
    switch (kind) {
      case serve::ArrivalKind::cancel:
      case serve::ArrivalKind::client_blocked:
      case serve::ArrivalKind::client_ready:
      case serve::ArrivalKind::drop_cache:
        return false;
      default:
        return true;
    }
  }
  /// The arrival that an event answers: they are answered in turn.
  const serve::Arrival& answered(const serve::StepEvent& e) {
    while (heard_ < arrivals_->size()) {
      const serve::Arrival& a = (*arrivals_)[heard_++];
      if (is_answered(a.kind) || (e.kind == serve::EventKind::refused && e.tag == a.tag)) return a;
      take_note(a);
    }
    fail("an answer to nothing");
    return nothing_;
  }
  /// Takes what the step hears before its next arrival that has an answer.
  void take_notes() {
    while (heard_ < arrivals_->size() && !is_answered((*arrivals_)[heard_].kind)) take_note((*arrivals_)[heard_++]);
  }
  /// A client reads, or does not.
  void take_note(const serve::Arrival& a) {
    if (a.kind == serve::ArrivalKind::drop_cache)
      for (Seen& r : requests_) r.shelved = r.shelved && !r.waits && !r.parked;
    if (a.kind != serve::ArrivalKind::client_blocked && a.kind != serve::ArrivalKind::client_ready) return;
    const auto of = std::ranges::find(requests_, a.subject, &Seen::handle);
    if (of == requests_.end() || a.subject == 0) return;
    Seen& r = *of;
    r.blocked = a.kind == serve::ArrivalKind::client_blocked;
    if (r.ended || r.blocked || !std::exchange(r.stalls, false) || !std::exchange(r.parked, false)) return;
    if (tenants_[r.tenant].waiting == 0) lift(r.tenant);
    wait(r, r.tenant);
  }
  /// Whether the step hears that of a tenant or a session.
  [[nodiscard]] bool hears_of(serve::ArrivalKind kind, serve::Handle subject) const {
    return subject != 0 && std::ranges::any_of(*arrivals_, [kind, subject](const serve::Arrival& a) {
             return a.kind == kind && a.subject == subject;
           });
  }
  [[nodiscard]] bool is_live(serve::Handle tenant) const {
    const std::uint32_t row = serve::row_of(tenant);
    return tenant != 0 && row < tenants_.size() && tenants_[row].handle == tenant;
  }
  [[nodiscard]] bool is_open(serve::Handle session, serve::Handle tenant) const {
    const auto found = open_.find(session);
    return found != open_.end() && found->second == tenant;
  }
  [[nodiscard]] static std::uint32_t pages_of(std::uint32_t prompt, std::uint32_t most) {
    return (prompt + most - 1 + zrt::kPageTokens - 1) / zrt::kPageTokens;
  }
  [[nodiscard]] static bool fits(const Seen& r, const serve::TenantQuota& quota) {
    return pages_of(r.prompt, r.most) <= quota.max_pages && r.prompt + r.most <= quota.max_context;
  }
  /// Pages that neither a tenant's reservation nor prefixes have, if `row` reserved `pages`; less than 0: too few.
  [[nodiscard]] std::int64_t floating(std::uint32_t row, std::uint32_t pages) const {
    std::int64_t left = std::int64_t{script_.limits.pages} - script_.limits.prefix_pages;
    for (std::uint32_t i = 0; i < tenants_.size(); ++i)
      if (i != row && tenants_[i].handle != 0) left -= tenants_[i].quota.reserved_pages;
    return left - pages;
  }

  [[nodiscard]] bool has_cause(serve::EndReason why, const Seen& r) const {
    const Kept& t = tenants_[r.tenant];
    switch (why) {
      case serve::EndReason::none:
        return false;
      case serve::EndReason::stopped:
        return r.complete && r.stopped;
      case serve::EndReason::length:
        return r.complete && !r.stopped;
      case serve::EndReason::cancelled:
        return r.cancelled;
      case serve::EndReason::client_too_slow:
        return r.is_unread();
      case serve::EndReason::failed:
        return r.failed;
      case serve::EndReason::session_closed:
        return hears_of(serve::ArrivalKind::close_session, r.session);
      case serve::EndReason::tenant_removed:
        return hears_of(serve::ArrivalKind::remove_tenant, t.handle);
      case serve::EndReason::quota_lowered:
        return hears_of(serve::ArrivalKind::change_tenant, t.handle) && !fits(r, t.quota);
    }
    return false;
  }
  [[nodiscard]] bool has_cause(serve::Refusal why, const serve::Arrival& a, const State& s) const {
    const std::uint32_t row = is_live(a.subject) ? serve::row_of(a.subject) : serve::kNone;
    const auto of_tenant = [&](const auto& holds) { return row != serve::kNone && holds(tenants_[row]); };
    const auto goes_on = [](const Seen& r) { return r.accepted && !r.ended; };
    switch (why) {
      case serve::Refusal::none:
        return false;
      case serve::Refusal::unknown_subject:
        if (a.kind == serve::ArrivalKind::close_session) return !open_.contains(a.subject);
        if (!is_answered(a.kind))
          return std::ranges::none_of(requests_, [&](const Seen& r) { return goes_on(r) && r.handle == a.subject; });
        return row == serve::kNone || (a.session != 0 && !is_open(a.session, a.subject));
      case serve::Refusal::bad_quota:
        return !serve::check(a.quota);
      case serve::Refusal::too_many_tenants:
        return live() == script_.limits.tenants;
      case serve::Refusal::too_many_sessions:
        return open_.size() >= script_.limits.sessions ||
               of_tenant([](const Kept& t) { return t.open >= t.quota.max_sessions; });
      case serve::Refusal::reservation:
        // What requests hold beyond reservations is known behind the step alone.
        return floating(row, a.quota.reserved_pages) < 0 || std::ranges::any_of(requests_, goes_on);
      case serve::Refusal::queue_full:
        return of_tenant([&](const Kept&) { return left_of(row) >= places_for(row, s); });
      case serve::Refusal::tenant_queue_full:
        return of_tenant([&](const Kept& t) { return left_of(row) >= t.quota.max_queued; });
      case serve::Refusal::empty_request:
        return a.prompt == 0 || a.most == 0;
      case serve::Refusal::context_too_long:
        return a.prompt + a.most > script_.limits.context ||
               of_tenant([&](const Kept& t) { return a.prompt + a.most > t.quota.max_context; });
      case serve::Refusal::pages_too_many:
        return of_tenant([&](const Kept& t) {
          const std::int64_t own = t.quota.reserved_pages;
          const std::int64_t pages = pages_of(a.prompt, a.most);
          return pages > t.quota.max_pages || pages > own + floating(row, t.quota.reserved_pages);
        });
    }
    return false;
  }

  void refuse(const serve::StepEvent& e, const State& s, const serve::Arrival& a) {
    if ((e.refusal == serve::Refusal::queue_full || e.refusal == serve::Refusal::tenant_queue_full) &&
        (e.retry_after == 0 || e.retry_after > 60'000'000'000u))
      fail("a full queue does not say when to come back");
    if (!has_cause(e.refusal, a, s)) fail("a refusal without a cause: " + std::string(serve::name(e.refusal)));
    if (a.kind == serve::ArrivalKind::submit && is_live(a.subject))
      ++tenants_[serve::row_of(a.subject)].ledger.requests_refused;
  }

  void change(std::uint32_t row, const serve::StepEvent& e, const serve::Arrival& a) {
    if (a.subject != e.tenant || !is_live(e.tenant)) fail("a tenant changes that was to stay");
    const serve::TenantQuota before = std::exchange(tenants_[row].quota, a.quota);
    tenants_[row].quota.service = before.service;
    tenants_[row].quota.group = before.group;
    tenants_[row].changed = step_;
    close_pairs(row);
  }

  /// A tenant goes on where the last one of its class in its row ended, but not behind all that wait.
  void create(std::uint32_t row, const serve::StepEvent& e, const serve::Arrival& a) {
    if (tenants_[row].handle != 0) fail("a tenant comes in the place of another");
    Kept fresh;
    fresh.handle = e.tenant;
    fresh.left = tenants_[row].left;
    fresh.quota = a.quota;
    fresh.service_class = a.quota.service;
    std::uint64_t most = 0;
    for (const Kept& t : tenants_)
      if (t.handle != 0 && t.waiting != 0 && t.service_class == fresh.service_class) most = std::max(most, t.service);
    fresh.service = std::min(most, fresh.left[static_cast<std::size_t>(fresh.service_class)]);
    tenants_[row] = fresh;
    close_pairs(row);
  }

  void accept(Seen& r, std::uint32_t row, const State& s, const serve::Arrival& a) {
    if (r.answered) return fail("a request is accepted twice");
    if (!is_live(a.subject) || serve::row_of(a.subject) != row) return fail("a request of nobody is accepted");
    if (a.session != 0 && !is_open(a.session, a.subject))
      fail("a request is accepted for a session that is not its tenant's");
    if (waiting_ >= s.limits.queue + s.limits.slots) fail("more requests wait than the queue and the slots hold");
    if (r.prompt + r.most > tenants_[row].quota.max_context)
      fail("a request longer than its tenant's context is accepted");
    const std::uint32_t own = left_of(row);
    if (live() > 1 && own >= places_for(row, s) + s.limits.slots)
      fail("a tenant's requests take the places of others in the queue");
    r.answered = r.accepted = true;
    r.order = ++accepted_;
    r.tenant = row;
    Kept& t = tenants_[row];
    if (own >= t.quota.max_queued + s.limits.slots)
      fail("more requests of a tenant wait or are unread than its queue and the slots hold");
    r.arrived = now_;
    t.ledger.prompt_tokens += r.prompt;
    ++t.ledger.requests_accepted;
    if (t.waiting == 0) lift(row);
    wait(r, row);
    t.most_cost = std::max(t.most_cost, std::uint64_t{r.prompt} + std::uint64_t{2} * r.most);
    const std::uint32_t read = short_steps_ || r.scored != 0 ? 1 : zrt::kPageTokens;
    const std::uint32_t steps = (r.prompt + r.most) / read + r.most + 4;
    longest_ = std::max(longest_, steps);
  }

  /// Requests of a tenant that wait, or are complete and unread.
  [[nodiscard]] std::uint32_t left_of(std::uint32_t row) const {
    std::uint32_t own = 0;
    for (const Seen& r : requests_) own += r.accepted && !r.ended && r.tenant == row && r.is_left() ? 1u : 0u;
    return own;
  }
  [[nodiscard]] std::uint32_t live() const {
    std::uint32_t count = 0;
    for (const Kept& t : tenants_) count += t.handle != 0 ? 1u : 0u;
    return count;
  }
  /// How many there may be of a tenant, because of all that there are.
  [[nodiscard]] std::uint64_t places_for(std::uint32_t row, const State& s) const {
    std::uint32_t all = 0;
    for (const Seen& r : requests_) all += r.accepted && !r.ended && r.is_left() ? 1u : 0u;
    const std::uint64_t left = s.limits.queue > all ? s.limits.queue - all : 0;
    if (live() < 2) return left == 0 ? 0 : ~0u;
    switch (tenants_[row].service_class) {
      case serve::ServiceClass::interactive:
        return 8 * left;
      case serve::ServiceClass::standard:
        return 4 * left;
      case serve::ServiceClass::batch:
        break;
    }
    return 2 * left;
  }

  [[nodiscard]] std::size_t class_of(std::uint32_t row) const {
    return static_cast<std::size_t>(tenants_[row].service_class);
  }
  [[nodiscard]] std::uint64_t& time_of(std::uint32_t row) { return time_[class_of(row)]; }
  void wait(Seen& r, std::uint32_t row) {
    r.waits = true;
    ++waiting_;
    ++tenants_[row].waiting;
  }
  /// Of what a tenant did not ask for it has no credit.
  void lift(std::uint32_t row) { tenants_[row].service = std::max(tenants_[row].service, time_of(row)); }

  void admit(Seen& r, const serve::StepEvent& e, const State& s) {
    take_notes();
    if (!r.waits) return fail("a request that does not wait is admitted");
    if (r.tells() && e.value > r.read) fail("a prefix stands in for logits that are wanted");
    if (r.is_unread()) fail("a request is admitted whose client does not read");
    const std::uint32_t row = serve::row_of(e.tenant);
    admitted_.push_back({row, tenants_[row].service});
    lift(row);
    time_of(row) = tenants_[row].service;
    ++tenants_[row].ledger.admissions;
    if (!std::exchange(r.admitted, true)) tenants_[row].ledger.cached_tokens += e.value;
    r.waits = false;
    --tenants_[row].waiting;
    --waiting_;
    r.computed = std::max(r.computed, e.value);
    if (r.shelved && e.value < r.behind && s.pages.evictions() == r.evictions)
      fail("a preempted request does not go on where its state is");
    r.shelved = r.shelved && e.value == r.behind;
    if ((e.value % zrt::kPageTokens != 0 && !r.shelved) || e.value >= r.prompt + r.generated)
      fail("a request is admitted at position " + std::to_string(e.value));
    r.behind = e.value;
    r.ran = false;
  }

  void token(Seen& r, const serve::StepEvent& e) {
    if (r.ended || !r.accepted) return fail("a token of a request that is not there");
    while (r.hashed < r.prompt + r.delivered)
      r.hash = mixed(r.hash, SimulatedMachine::entry_of(r.tokens[r.hashed++], r.variant()));
    const serve::Outcome alone = machine_.answer(r.hash, r.hash);
    if (alone.token != e.value)
      fail("token " + std::to_string(r.delivered) + " of request " + std::to_string(e.tag) +
           " is not what it is alone");
    if (r.tokens[r.prompt + r.delivered] != e.value) fail("a delivered token is not the request's");
    ++r.delivered;
    r.unread_since = step_;
    r.unread_at = now_;
    const std::uint32_t row = serve::row_of(e.tenant);
    serve::TenantLedger& ledger = tenants_[row].ledger;
    ++ledger.delivered_tokens;
    (r.delivered == 1 ? ledger.first_token : ledger.token_gap).add(now_ - (r.delivered == 1 ? r.arrived : r.told));
    r.told = now_;
    if (!std::exchange(r.parked, false)) return;
    if (tenants_[row].waiting == 0) lift(row);
    wait(r, row);
  }

  /// Whether nothing that runs is of a higher class.
  [[nodiscard]] bool is_highest(std::uint32_t row, const State& s) const {
    const auto own = static_cast<std::uint32_t>(tenants_[row].service_class);
    return std::ranges::none_of(s.slots, [own](const serve::SlotRow& r) { return r.request != 0 && r.priority < own; });
  }

  void preempt(Seen& r, const serve::StepEvent& e, const State& s) {
    const std::uint32_t row = serve::row_of(e.tenant);
    ++preempted_;
    ++tenants_[row].ledger.preemptions;
    if (r.waits || r.ended) fail("a request that does not run is preempted");
    if (tenants_[row].changed != step_) take_notes();
    r.parked = r.is_unread();
    if (!r.parked) wait(r, row);
    shelve(r);
    // What computes nothing, because of its client or its tenant's rate, yields to anybody.
    Kept& t = tenants_[row];
    const bool goes_on = !r.parked && t.decoded.room(now_, t.quota.decode_tokens_per_s) != 0 &&
                         t.prefilled.room(now_, t.quota.prefill_tokens_per_s) != 0;
    if (tenants_[row].changed == step_ || !goes_on) return;
    if (tenants_[row].service_class == serve::ServiceClass::interactive) fail("an interactive request is preempted");
    if (e.tag == floor_request_) fail("a floor that computes is preempted");
    if (++r.preemptions > 2 && is_highest(row, s)) fail("a request yields again and again to its own class");
  }

  /// A recurrent model's state is kept for a preempted request, where there is a row for it.
  void shelve(Seen& r) {
    if (!is_hybrid(script_.limits) || r.shelved || !r.ran || r.behind == 0) return;
    r.evictions = evictions_;
    const auto taken =
        std::ranges::count_if(requests_, [](const Seen& other) { return other.shelved && !other.ended; });
    r.shelved = static_cast<std::uint32_t>(taken) < script_.limits.shelf;
    if (r.shelved || r.parked) return;
    // One whose client does not read gives way, the first that came.
    Seen* idle = nullptr;
    for (Seen& other : requests_)
      if (other.shelved && !other.ended && other.parked && (idle == nullptr || other.order < idle->order))
        idle = &other;
    r.shelved = idle != nullptr;
    if (idle != nullptr) idle->shelved = false;
  }

  void end(Seen& r, const serve::StepEvent& e) {
    if (r.ended || !r.accepted) return fail("request " + std::to_string(e.tag) + " ends twice");
    r.ended = true;
    const std::uint32_t row = serve::row_of(e.tenant);
    if (r.waits) --waiting_, --tenants_[row].waiting;
    r.waits = false;
    if (!has_cause(e.end, r)) fail("a request ends without a cause: " + std::to_string(static_cast<int>(e.end)));
    const bool whole = e.end == serve::EndReason::stopped || e.end == serve::EndReason::length;
    ++(whole ? tenants_[row].ledger.requests_finished : tenants_[row].ledger.requests_ended_early);
    if (whole && (!r.complete || r.delivered != r.generated)) fail("a request ends as complete before it is");
    if (e.end == serve::EndReason::length && r.delivered != r.most) fail("an answer is cut short");
    if (e.end == serve::EndReason::client_too_slow &&
        (step_ - r.unread_since <= script_.limits.slow_steps || now_ - r.unread_at < script_.limits.slow_ns))
      fail("a client ends before it has had its time");
  }

  // --- after a step ---

  /// Nobody of a class is admitted before a tenant with less service that got nothing in this step and goes on waiting.
  void order(const State& s) {
    if (preempted_ != 0) return;
    for (const auto& [a, service] : admitted_)
      for (std::uint32_t b = 0; b < tenants_.size(); ++b)
        if (tenants_[a].handle != 0 && tenants_[b].handle != 0 && !was_admitted(b) &&
            tenants_[a].service_class == tenants_[b].service_class && waits(s, b) &&
            !blocked(s, tenants_[b].service_class) && tenants_[b].service + kRounding < service)
          fail("tenant " + std::to_string(a) + " is admitted before tenant " + std::to_string(b));
    for (const auto& [a, service] : admitted_) overtakes(s, a, service);
  }
  /// Who is admitted before a request of its class that lacks pages, or a floor that has waited for them, stays within its
  /// reservation.
  void overtakes(const State& s, std::uint32_t a, std::uint64_t service) {
    const serve::TenantRow& own = s.tenants[a];
    if (tenants_[a].handle == 0 || own.slots != 1) return;
    const auto slot = std::ranges::find(s.slots, s.tenant_handle(a), &serve::SlotRow::tenant) - s.slots.begin();
    const serve::SlotWork& w = s.work[static_cast<std::size_t>(slot)];
    if (w.floor || w.admitted != s.step || s.need(s.requests[w.request]) <= own.quota.reserved_pages) return;
    if (s.floor_waited > s.limits.floor_patience)
      fail("tenant " + std::to_string(a) + " takes pages for which the floor waits");
    for (std::uint32_t b = 0; b < tenants_.size(); ++b)
      if (tenants_[b].handle != 0 && !was_admitted(b) && tenants_[a].service_class == tenants_[b].service_class &&
          s.tenants[b].waits_for_pages && tenants_[b].service + kRounding < service)
        fail("tenant " + std::to_string(a) + " overtakes tenant " + std::to_string(b) + ", which lacks pages");
  }

  [[nodiscard]] bool was_admitted(std::uint32_t tenant) const {
    return std::ranges::any_of(admitted_, [tenant](const Admitted& a) { return a.tenant == tenant; });
  }

  /// The lower classes hold the floor in turn, when both wait for it.
  void turns(const State& s) {
    if (s.floor_slot == serve::kNone || s.work[s.floor_slot].admitted != s.step) return;
    const std::uint32_t c = s.slots[s.floor_slot].priority;
    for (std::uint32_t i = 0; i < tenants_.size() && preempted_ == 0 && c == last_floor_; ++i)
      if (tenants_[i].handle != 0 && tenants_[i].service_class != serve::ServiceClass::interactive &&
          static_cast<std::uint32_t>(tenants_[i].service_class) != c && waits(s, i) && !was_admitted(i))
        fail("a class holds the floor twice while another waits");
    last_floor_ = c;
  }

  void runs(const State& s) {
    for (const serve::PlannedRun& run : s.runs) {
      const std::uint32_t row = serve::row_of(s.slots[run.slot].tenant);
      Kept& t = tenants_[row];
      Seen& r = requests_[s.requests[serve::row_of(run.request)].tag];
      const serve::TenantQuota& q = s.tenants[row].quota;
      const std::uint64_t most = 5u * std::uint64_t{run.decode ? q.decode_tokens_per_s : q.prefill_tokens_per_s};
      if ((run.decode ? t.decoded : t.prefilled).add(now_, run.count) > most)
        fail("tenant " + std::to_string(row) + (run.decode ? " decodes" : " reads prompts") + " beyond its rate");
      if (!run.decode && run.sample && r.generated != 0 && !r.silent &&
          t.decoded.add(now_, 1) > 5u * std::uint64_t{q.decode_tokens_per_s})
        fail("tenant " + std::to_string(row) + " goes on beyond its rate");
      t.weight = q.weight;
      serve_positions(r, row, run.begin, run.begin + run.count - run.drafts);
    }
  }

  /// Rows that reach the head: one of each run, and of prompts that are told as many more as there is room for. Reading
  /// stops for a client that does not read, and nothing is told twice.
  void rows(const State& s) {
    std::uint32_t count = 0;
    for (const serve::PlannedRun& run : s.runs) {
      const Seen& r = requests_[s.requests[serve::row_of(run.request)].tag];
      count += r.told_by(run) + (run.sample ? 1u : 0u);
      if (r.stalls) fail("a prompt is read on whose client does not read");
      if (run.begin > r.read && r.tells()) fail("a run begins behind logits that are wanted");
      if (run.drafts != 0 && r.tells()) fail("a prompt that is told has drafts");
    }
    if (count > s.runs.size() + script_.limits.scored_rows) fail("more rows reach the head than there is room for");
    for (const serve::RequestRow& row : s.requests)
      if (row.stage != serve::RequestStage::free && row.told != requests_[row.tag].read)
        fail("what is told of a prompt is miscounted");
  }
  /// Tokens of prompts that are told beyond one of each.
  [[nodiscard]] std::uint32_t shared_rows(const State& s) const {
    std::uint32_t count = 0;
    for (const serve::PlannedRun& run : s.runs) {
      const Seen& r = requests_[s.requests[serve::row_of(run.request)].tag];
      const std::uint32_t own = r.own_tokens(run.begin);
      if (r.tells() && run.count > own) count += run.count - own;
    }
    return count;
  }

  /// Every slot that can decode does; the floor reads its prompt; something runs where something can.
  void present(const State& s) {
    std::vector<bool> has_run(s.slots.size());
    for (const serve::PlannedRun& run : s.runs) has_run[run.slot] = true;
    throttled_ = false;
    for (std::uint32_t slot = 0; slot < s.slots.size(); ++slot) {
      if (s.work[slot].request == serve::kNone) continue;
      Kept& t = tenants_[serve::row_of(s.slots[slot].tenant)];
      const bool held = s.requests[s.work[slot].request].holds_token;
      const bool decode = s.slots[slot].stage == serve::SlotStage::decode;
      const bool room = decode ? t.decoded.room(now_, t.quota.decode_tokens_per_s) != 0
                               : t.prefilled.room(now_, t.quota.prefill_tokens_per_s) != 0;
      // A rate that is used up has also cut the run of a prompt.
      throttled_ = throttled_ || ((held || !room) && !(has_run[slot] && decode));
      if (has_run[slot] || held || !room) continue;
      if (decode) fail("slot " + std::to_string(slot) + " could decode and does not");
      if (!decode && slot == s.floor_slot) fail("the floor waits for its prompt");
      if (s.runs.empty()) fail("nothing runs though slot " + std::to_string(slot) + " could");
    }
  }

  /// Slots that decode and share a rate have it in turn: none has it thrice while another goes without.
  void rate_turns(const State& s) {
    const std::size_t slots = s.slots.size();
    const auto decoded = [&s](std::uint32_t slot) {
      return std::ranges::any_of(s.runs, [slot](const serve::PlannedRun& r) { return r.slot == slot && r.decode; });
    };
    for (std::uint32_t a = 0; a < slots; ++a) {
      const serve::SlotWork& w = s.work[a];
      const bool waits = w.request != serve::kNone && s.slots[a].stage == serve::SlotStage::decode &&
                         !s.requests[w.request].holds_token && !decoded(a);
      for (std::uint32_t b = 0; b < slots; ++b) {
        std::uint32_t& turns = turns_[a * slots + b];
        if (!waits || s.slots[a].tenant != s.slots[b].tenant)
          turns = 0;
        else if (decoded(b) && ++turns > 2)
          fail("slot " + std::to_string(b) + " uses up the rate of slot " + std::to_string(a));
      }
    }
  }

  /// Beside an interactive answer prompts of lower classes keep its gaps even where time is short; the floor reads what
  /// it is promised all the same.
  void prompts(const State& s) {
    std::uint32_t busy = 0, decoding = 0, lower = 0;
    bool answers = false;
    for (const serve::SlotWork& w : s.work) busy += w.request != serve::kNone ? 1u : 0u;
    for (const serve::PlannedRun& run : s.runs) {
      const bool interactive = s.slots[run.slot].priority == 0;
      decoding += run.decode ? 1u : 0u;
      answers = answers || (interactive && run.decode);
      lower += interactive || run.decode ? 0 : run.count;
    }
    if (answers && lower > std::max(script_.prompt_tokens, busy - decoding + std::max(1u, busy / 4)))
      fail("prompts of lower classes stretch the gaps of an interactive answer");
    times(s, answers, lower, busy - decoding + std::max(1u, busy / 4));
    const bool short_time = answers && short_steps_;
    const std::uint32_t promised = short_time ? std::max(1u, busy / 8) : zrt::kPageTokens;
    for (const serve::PlannedRun& run : s.runs)
      if (run.slot == s.floor_slot && !run.decode && run.count < std::min(promised, most_told(s, run)) && !ends(s, run))
        fail("the floor reads too little of its prompt");
  }
  /// Prompts keep to the targets of requests and the budgets of tenants, as far as the host says how long steps take; what
  /// was measured may be mistaken by half. `lower` tokens are of prompts of lower classes, `even` of them always may be.
  void times(const State& s, bool answers, std::uint32_t lower, std::uint32_t even) {
    std::array<std::uint32_t, serve::kServiceClasses> read{};    // by class, with those below
    std::array<std::uint64_t, serve::kServiceClasses> target{};  // by class, of its runs
    std::uint64_t gap = 0;
    std::uint32_t drafts = 0;
    const auto least = [](std::uint64_t& of_all, std::uint64_t own) {
      if (own != 0) of_all = of_all == 0 ? own : std::min(of_all, own);
    };
    for (const serve::PlannedRun& run : s.runs) {
      const std::uint32_t priority = s.slots[run.slot].priority;
      least(target[priority], requests_[s.requests[serve::row_of(run.request)].tag].target);
      drafts += run.drafts;
      const serve::TenantQuota& quota = s.tenants[serve::row_of(s.slots[run.slot].tenant)].quota;
      if (run.decode && priority == 0) least(gap, serve::latency_budget(quota).gap);
      for (std::uint32_t c = 0; !run.decode && c <= priority; ++c) read[c] += run.count;
    }
    const auto keeps = [this](std::uint32_t tokens, std::uint64_t budget, std::uint32_t always) {
      return tokens <= always || (script_.timed && tokens * script_.token_ns <= 2 * budget + script_.step_ns);
    };
    for (std::uint32_t c = 0; c < serve::kServiceClasses; ++c)
      if (target[c] != 0 && !keeps(read[c], target[c], 2 * zrt::kPageTokens))
        fail("prompts make a step longer than a target of their class");
    if (answers && paced_ &&
        ((target[0] != 0 && !keeps(drafts, target[0], even)) || (gap != 0 && !keeps(drafts, gap, even))))
      fail("drafts stretch the gaps of an interactive answer");
    paced_ = paced_ || (script_.timed && read[0] >= zrt::kPageTokens);
    if (gap != 0 && !keeps(lower, gap, std::max(even, 2 * zrt::kPageTokens)))
      fail("prompts of lower classes make a gap longer than its budget");
    for (std::uint32_t c = 0; c < serve::kServiceClasses; ++c) {
      std::uint32_t others = 0;
      for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
        const serve::TenantQuota& quota = s.tenants[i].quota;
        if (tenants_[i].handle == 0 || static_cast<std::uint32_t>(quota.service) > c) continue;
        const std::uint64_t budget = serve::latency_budget(quota).first_token;
        if (budget == 0) continue;
        others += static_cast<std::uint32_t>(quota.service) == c ? 1u : 0u;
        const bool waits = static_cast<std::uint32_t>(quota.service) < c || others > 1;
        if (waits && !keeps(read[c], budget, serve::kLeastPrompt)) fail("prompts keep a first token waiting");
      }
    }
  }
  /// Whether the floor's share of a step may be less than a page.
  [[nodiscard]] static bool has_short_steps(const Script& script) {
    if (script.prompt_tokens < 2 * zrt::kPageTokens) return true;
    for (const ScriptEvent& e : script.events) {
      if (e.target != 0) return true;
      serve::TenantQuota quota = e.quota;
      if (e.act == Action::change) quota.service = serve::ServiceClass::interactive;  // the class stays what it was
      const bool makes = e.act == Action::create || e.act == Action::change;
      if (!makes || quota.service != serve::ServiceClass::interactive || !script.timed) continue;
      const std::uint64_t gap = serve::latency_budget(quota).gap;
      // What is measured may be too much by the whole of a short step.
      const std::uint64_t slowest = 2 * (script.token_ns + script.row_ns) + script.step_ns / 8;
      if (gap != 0 && 2 * zrt::kPageTokens * slowest > gap) return true;
    }
    return false;
  }
  /// Whether a run could be no longer: at the prompt's end, where a state is kept, or by its tenant's rate.
  [[nodiscard]] bool ends(const State& s, const serve::PlannedRun& run) {
    Kept& t = tenants_[serve::row_of(s.slots[run.slot].tenant)];
    const bool border = s.limits.checkpoints != 0 && (run.begin + run.count) % zrt::kPageTokens == 0;
    // A preempted request stops before the token that its rate does not allow.
    const Seen& r = requests_[s.requests[serve::row_of(run.request)].tag];
    const bool waits = r.generated != 0 && run.begin + run.count + 1 == r.prompt + r.generated &&
                       t.decoded.room(now_, t.quota.decode_tokens_per_s) == 0;
    return run.sample || border || waits || t.prefilled.room(now_, t.quota.prefill_tokens_per_s) == 0;
  }
  /// The same, or by the rows of prompts that are told.
  [[nodiscard]] bool stops(const State& s, const serve::PlannedRun& run) {
    const Seen& r = requests_[s.requests[serve::row_of(run.request)].tag];
    const bool full = r.tells() && run.count >= r.own_tokens(run.begin) && shared_rows(s) >= s.limits.scored_rows;
    return full || ends(s, run);
  }
  /// The longest that a run alone with its rows may be.
  [[nodiscard]] std::uint32_t most_told(const State& s, const serve::PlannedRun& run) const {
    const Seen& r = requests_[s.requests[serve::row_of(run.request)].tag];
    return r.tells() ? r.own_tokens(run.begin) + s.limits.scored_rows : ~0u;
  }

  /// Of a class's prompts none is read on while that of a tenant with less service waits, but for a turn of 64 tokens.
  void prompt_order(const State& s) {
    for (const serve::PlannedRun& run : s.runs) {
      const std::uint32_t a = serve::row_of(s.slots[run.slot].tenant);
      if (run.decode || run.slot == s.floor_slot) continue;
      const std::uint64_t turn = 64 * serve::kServiceUnit / s.tenants[a].quota.weight + kRounding;
      for (std::uint32_t slot = 0; slot < s.slots.size(); ++slot) {
        if (s.slots[slot].priority != s.slots[run.slot].priority || !wants_prompt(s, slot)) continue;
        const std::uint32_t b = serve::row_of(s.slots[slot].tenant);
        if (tenants_[b].service + turn < tenants_[a].service)
          fail("the prompts of tenant " + std::to_string(a) + " are read before those of tenant " + std::to_string(b));
      }
    }
  }
  /// Whether a slot could read more of its prompt than it does in the step.
  [[nodiscard]] bool wants_prompt(const State& s, std::uint32_t slot) {
    if (s.work[slot].request == serve::kNone || !serve::RunPlanner<Rules>::can_prefill(s, slot)) return false;
    const auto own = std::ranges::find(s.runs, slot, &serve::PlannedRun::slot);
    return own == s.runs.end() || !stops(s, *own);
  }

  /// The scheduler's counts of service are the witness's, but for rounding.
  void service(const State& s) {
    for (std::uint32_t i = 0; i < tenants_.size(); ++i)
      if (tenants_[i].handle != 0 && difference(tenants_[i].service, s.tenants[i].service) > kRounding)
        fail("the service of tenant " + std::to_string(i) + " is miscounted");
  }

  [[nodiscard]] static bool waits(const State& s, std::uint32_t row) {
    const serve::TenantRow& t = s.tenants[row];
    return serve::FairAdmission<Rules>::eligible(s, row) && !t.waits_for_pages &&
           t.charge + s.need(s.requests[t.first]) <= t.quota.max_pages;
  }
  [[nodiscard]] static bool blocked(const State& s, serve::ServiceClass c) {
    for (const serve::TenantRow& t : s.tenants)
      if (t.live && t.quota.service == c && t.waits_for_pages) return true;
    return false;
  }
  [[nodiscard]] std::uint64_t unfairness(const State& s, std::uint32_t row) const {
    const std::uint64_t slots = std::min<std::uint64_t>(tenants_[row].most_slots, s.limits.slots);
    return tenants_[row].most_cost * slots * serve::kServiceUnit / tenants_[row].least_weight;
  }

  void close_pairs(std::uint32_t row) {
    for (std::uint32_t i = 0; i < tenants_.size(); ++i)
      pairs_[row * tenants_.size() + i].open = pairs_[i * tenants_.size() + row].open = false;
  }

  void fairness(const State& s) {
    for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
      tenants_[i].least_weight = std::min(tenants_[i].least_weight, s.tenants[i].quota.weight);
      tenants_[i].most_slots = std::max(tenants_[i].most_slots, std::uint64_t{s.tenants[i].quota.max_slots});
    }
    for (std::uint32_t a = 0; a < tenants_.size(); ++a)
      for (std::uint32_t b = a + 1; b < tenants_.size(); ++b) {
        Pair& pair = pairs_[a * tenants_.size() + b];
        const auto c = s.tenants[a].quota.service;
        const bool both = tenants_[a].handle != 0 && tenants_[b].handle != 0 && s.tenants[b].quota.service == c &&
                          waits(s, a) && waits(s, b) && !blocked(s, c);
        if (!both) {
          pair.open = false;
          continue;
        }
        if (!pair.open) pair = {true, tenants_[a].served, tenants_[b].served};
        const std::uint64_t apart = difference(tenants_[a].served - pair.served_a, tenants_[b].served - pair.served_b);
        if (apart > 2 * std::max(unfairness(s, a), unfairness(s, b)) + kRounding)
          fail("tenants " + std::to_string(a) + " and " + std::to_string(b) + " are served apart by " +
               std::to_string(apart / serve::kServiceUnit));
      }
  }

  /// Counts the steps in which a slot's client has not read, less those in which it computed.
  void stalls(const State& s) {
    for (std::uint32_t slot = 0; slot < s.slots.size(); ++slot) {
      const serve::SlotWork& w = s.work[slot];
      const bool has_run = std::ranges::find(s.runs, slot, &serve::PlannedRun::slot) != s.runs.end();
      if (w.request == serve::kNone || w.admitted == s.step)
        stalled_[slot] = 0;
      else if (has_run)
        stalled_[slot] -= std::min(stalled_[slot], 1u);
      else if (s.requests[w.request].holds_token)
        ++stalled_[slot];
    }
  }

  /// No request waits for a slot that a lower class could give, or one whose client does not read.
  void classes(const State& s) {
    if (preempted_ != 0) return;
    bool beside_stalled = false;
    std::uint32_t free = 0;
    for (const serve::SlotWork& w : s.work) free += w.request == serve::kNone ? 1u : 0u;
    for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
      const serve::TenantRow& t = s.tenants[i];
      if (tenants_[i].handle == 0 || !serve::FairAdmission<Rules>::eligible(s, i) || blocked(s, t.quota.service))
        continue;
      if (free != 0) fail("a request waits beside a free slot");
      for (std::uint32_t slot = 0; slot < s.slots.size(); ++slot)
        beside_stalled = beside_stalled || (stalled_[slot] > s.limits.floor_patience && !s.work[slot].floor &&
                                            s.requests[s.work[slot].request].holds_token);
      for (std::uint32_t slot = 0; slot < s.slots.size(); ++slot)
        if (s.work[slot].request != serve::kNone && !s.work[slot].floor && s.work[slot].admitted != s.step &&
            s.slots[slot].priority > static_cast<std::uint32_t>(t.quota.service))
          fail("a request waits while a lower class runs");
    }
    beside_stalled_ = beside_stalled ? beside_stalled_ + 1 : 0;
    if (beside_stalled_ > 2 + s.limits.slots) fail("a request waits for a client that does not read");
  }

  /// Lower classes that wait get the floor in bounded time.
  void floor(const State& s) {
    bool lower = false;
    for (std::uint32_t i = 0; i < tenants_.size(); ++i)
      lower = lower || (tenants_[i].handle != 0 && s.tenants[i].quota.service != serve::ServiceClass::interactive &&
                        serve::FairAdmission<Rules>::eligible(s, i) &&
                        s.tenants[i].charge + s.need(s.requests[s.tenants[i].first]) <= s.tenants[i].quota.max_pages);
    bool own = false;
    for (const serve::SlotWork& w : s.work) own = own || (w.request != serve::kNone && w.floor);
    if (!lower || own || s.limits.slots < 2)
      floor_gap_ = 0;
    else if (!throttled_)
      ++floor_gap_;
    if (floor_gap_ > s.limits.floor_patience + s.limits.slots * longest_)
      fail("lower classes have waited for the floor for " + std::to_string(floor_gap_) + " steps");
  }

  /// Who computes nothing, or in less than half of the steps, does not keep the floor.
  void floor_is_used(const State& s) {
    const auto has_run = [&s](const serve::PlannedRun& run) { return run.slot == s.floor_slot; };
    const bool idle = s.floor_slot != serve::kNone && !std::ranges::any_of(s.runs, has_run);
    if (s.floor_slot == serve::kNone || s.work[s.floor_slot].admitted == s.step)
      floor_idle_ = 0;
    else
      floor_idle_ = idle ? floor_idle_ + 1 : std::max(floor_idle_, 1u) - 1;
    if (floor_idle_ > s.limits.floor_patience + 1) fail("the floor is kept by a request that computes nothing");
    floor_request_ = s.floor_slot == serve::kNone || idle ? 0 : s.requests[s.work[s.floor_slot].request].tag;
  }
  [[nodiscard]] static bool user_lacks_pages(const State& s) {
    for (std::uint32_t i = 0; i < s.tenants.size(); ++i) {
      const serve::TenantRow& t = s.tenants[i];
      if (t.quota.service != serve::ServiceClass::interactive || !serve::FairAdmission<Rules>::eligible(s, i)) continue;
      const std::uint32_t reserved = t.quota.reserved_pages;
      const std::uint64_t with = t.charge + s.need(s.requests[t.first]);
      if (serve::PageBudget::over(with, reserved) - serve::PageBudget::over(t.charge, reserved) >
          s.budget.floating_left())
        return true;
    }
    return false;
  }
  /// While an interactive request lacks pages at most one floor begins, and one more in each `floor_patience` steps.
  void users(const State& s) {
    const bool begun = s.floor_slot != serve::kNone && s.work[s.floor_slot].admitted == s.step;
    const bool waits = user_lacks_pages(s);  // and did not leave in this step
    if (waits && users_waited_ != 0 && begun &&
        ++floors_begun_ > 1 + users_waited_ / std::max(1u, s.limits.floor_patience))
      fail("an interactive request waits for pages behind one floor after another");
    users_waited_ = waits ? users_waited_ + 1 : 0;
    if (users_waited_ == 0) floors_begun_ = 0;
  }

  /// A tenant that is d tokens behind another comes to the floor at most d + 1 times before it, by weight. What ends there
  /// before it has computed anything does not count.
  void visits(const State& s) {
    const bool taken = s.floor_slot != serve::kNone && s.work[s.floor_slot].admitted == s.step;
    const std::uint32_t holder = taken ? serve::row_of(s.slots[s.floor_slot].tenant) : serve::kNone;
    for (std::uint32_t t = 0; t < tenants_.size(); ++t) {
      const std::uint64_t first = wants_floor(s, t) ? s.requests[s.tenants[t].first].tag : 0;
      const bool waits = first != 0 && first == tenants_[t].first;
      tenants_[t].first = first;
      for (std::uint32_t u = 0; u < tenants_.size(); ++u) {
        Visits& v = visits_[t * tenants_.size() + u];
        if (!waits || u == t || tenants_[u].handle == 0 || tenants_[u].service_class != tenants_[t].service_class ||
            tenants_[u].changed == step_) {
          v = {};
          continue;
        }
        if (u == holder && v.most != ~std::uint64_t{0} && tenants_[u].service > v.service && ++v.count > v.most)
          fail("tenant " + std::to_string(u) + " has the floor too often before tenant " + std::to_string(t));
        const Kept& a = tenants_[t];
        const Kept& b = tenants_[u];
        v.service = b.service;
        const std::uint64_t behind = a.service + kRounding > b.service ? a.service + kRounding - b.service : 0;
        const std::uint64_t tokens = behind * s.tenants[u].quota.weight / serve::kServiceUnit;
        v.most = std::min(v.most, v.count + tokens + 1);
      }
    }
  }
  /// Whether a tenant of a lower class has nothing but requests that wait, of which the first could begin.
  [[nodiscard]] bool wants_floor(const State& s, std::uint32_t row) const {
    const serve::TenantRow& t = s.tenants[row];
    return tenants_[row].handle != 0 && t.quota.service != serve::ServiceClass::interactive && t.slots == 0 &&
           serve::FairAdmission<Rules>::eligible(s, row) && s.need(s.requests[t.first]) <= t.quota.max_pages;
  }

  void clients(const State& s) {
    for (const Seen& r : requests_)
      if (r.accepted && !r.ended && !r.complete && !fits(r, tenants_[r.tenant].quota))
        fail("a request goes on that its tenant may not have");
    for (const Seen& r : requests_)
      if (r.accepted && !r.ended && r.is_unread() && step_ - r.unread_since > s.limits.slow_steps + 1 &&
          now_ - r.unread_at > s.limits.slow_ns)
        fail("a client that does not read is kept");
  }

  void ledgers(const State& s) {
    for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
      if (tenants_[i].handle == 0) continue;
      const serve::TenantLedger& l = s.tenants[i].ledger;
      const serve::TenantLedger& own = tenants_[i].ledger;
      const bool sums = std::ranges::all_of(kLedgerSums, [&](const auto sum) { return l.*sum == own.*sum; });
      if (!sums || l.first_token != own.first_token || l.token_gap != own.token_gap ||
          l.peak_pages < s.tenants[i].charge || l.peak_pages < tenants_[i].ledger.peak_pages ||
          l.peak_pages > script_.limits.pages)
        fail("the ledger of tenant " + std::to_string(i) + " is wrong");
      tenants_[i].ledger.peak_pages = l.peak_pages;
    }
  }

  static constexpr auto kLedgerSums = std::to_array<std::uint64_t serve::TenantLedger::*>(
      {&serve::TenantLedger::prompt_tokens, &serve::TenantLedger::cached_tokens, &serve::TenantLedger::computed_tokens,
       &serve::TenantLedger::recomputed_tokens, &serve::TenantLedger::delivered_tokens,
       &serve::TenantLedger::drafted_tokens, &serve::TenantLedger::accepted_drafts, &serve::TenantLedger::drafts,
       &serve::TenantLedger::requests_accepted, &serve::TenantLedger::requests_refused,
       &serve::TenantLedger::requests_finished, &serve::TenantLedger::requests_ended_early,
       &serve::TenantLedger::admissions, &serve::TenantLedger::preemptions});
  static_assert(sizeof(serve::TenantLedger) ==
                kLedgerSums.size() * 8 + sizeof(std::uint64_t) + 2 * sizeof(serve::LatencyHistogram));

  const Script& script_;
  const SimulatedMachine& machine_;
  std::vector<Seen>& requests_;
  std::vector<Kept> tenants_;
  std::vector<Pair> pairs_;
  std::vector<Visits> visits_;                                ///< [who waits][who comes]
  std::vector<std::uint32_t> turns_;                          ///< [slot that goes without][slot that decodes]
  std::vector<std::uint32_t> stalled_;                        ///< by slot
  std::array<std::uint64_t, serve::kServiceClasses> time_{};  ///< virtual, by class
  std::string broken_{};
  std::uint64_t step_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t evictions_ = 0;  ///< of pages, before the step
  std::uint64_t accepted_ = 0;   ///< requests
  std::uint32_t waiting_ = 0;
  std::uint32_t preempted_ = 0;
  std::uint32_t longest_ = 0;
  std::uint32_t last_floor_ = serve::kNone;  ///< class
  std::uint64_t floor_request_ = 0;          ///< that held it in the step before, and computed; 0: none
  std::vector<Admitted> admitted_{};
  std::map<serve::Handle, serve::Handle> open_{};  ///< tenants by their sessions
  const serve::Arrival nothing_{};
  const std::vector<serve::Arrival>* arrivals_ = nullptr;  ///< of the step
  std::size_t heard_ = 0;                                  ///< of these, how many are answered or need no answer
  std::uint32_t floor_gap_ = 0;
  std::uint32_t beside_stalled_ = 0;  ///< steps in which a request waited for a client that does not read
  std::uint32_t floor_idle_ = 0;      ///< steps in which its holder computed nothing, less others
  std::uint32_t users_waited_ = 0;    ///< steps in which an interactive request lacked pages
  std::uint32_t floors_begun_ = 0;    ///< in these
  bool throttled_ = false;
  bool short_steps_ = false;
  bool paced_ = false;  ///< a step before this one has told what a token takes
};

}  // namespace simulate
