// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate/simulation.hpp: runs scripts, and makes one that fails short.
#pragma once

#include "witness.hpp"
#include <zrt/serve/audit.hpp>
#include <zrt/serve/draft_pay.hpp>

namespace simulate {

/// How often the interesting things happened.
struct Tally {
  std::uint64_t steps = 0;
  std::uint64_t events = 0;
  std::uint64_t tokens = 0;
  std::uint64_t finished = 0;
  std::uint64_t refused = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t resumed_on_prefix = 0;  ///< preempted requests that found pages of their own again
  std::uint64_t prefix_hits = 0;
  std::uint64_t states_loaded = 0;
  std::uint64_t slow_clients = 0;
  std::uint64_t removed_busy = 0;      ///< requests that ended with their tenant
  std::uint64_t states_resumed = 0;    ///< preempted requests of a recurrent model that went on from a kept state
  std::uint64_t states_unshelved = 0;  ///< the same from the state that they were preempted with
  std::uint64_t floor_steps = 0;
  std::uint64_t idle_steps = 0;
  std::uint64_t drafts = 0;
  std::uint64_t accepted_drafts = 0;
  std::uint64_t told_prompts = 0;    ///< prompts whose wanted logits were all read
  std::uint64_t told_positions = 0;  ///< positions whose logits were
  std::uint64_t told_preempted = 0;  ///< preemptions of requests whose prompts were being told
  std::uint64_t told_blocked = 0;    ///< times that the reading of a prompt stopped for its client
  std::uint64_t told_slow = 0;       ///< clients too slow that ended there
  std::uint64_t told_on_prefix = 0;  ///< admissions of such requests that found positions already told

  void add(const Tally& t) {
    steps += t.steps;
    events += t.events;
    tokens += t.tokens;
    finished += t.finished;
    refused += t.refused;
    preemptions += t.preemptions;
    resumed_on_prefix += t.resumed_on_prefix;
    prefix_hits += t.prefix_hits;
    states_loaded += t.states_loaded;
    slow_clients += t.slow_clients;
    removed_busy += t.removed_busy;
    states_resumed += t.states_resumed;
    states_unshelved += t.states_unshelved;
    floor_steps += t.floor_steps;
    idle_steps += t.idle_steps;
    drafts += t.drafts;
    accepted_drafts += t.accepted_drafts;
    told_prompts += t.told_prompts;
    told_positions += t.told_positions;
    told_preempted += t.told_preempted;
    told_blocked += t.told_blocked;
    told_slow += t.told_slow;
    told_on_prefix += t.told_on_prefix;
  }
};

/// What came of a script.
struct Verdict {
  std::string broken{};  ///< the first promise that was, or empty
  std::uint32_t step = 0;
  std::uint64_t digest = 0;  ///< of all events and runs
  Tally tally{};
};

/// Runs a script to its end, and then until every request has ended.
template <class Rules> class Simulation {
 public:
  Simulation(const Script& script, Rules rules) : script_(script), rules_(rules), machine_(script) {}

  Verdict run() {
    prepare();
    auto made = serve::Scheduler<Rules>::make(script_.limits, zrt::system_allocator(), rules_);
    auto audit = serve::Audit::make(script_.limits, zrt::system_allocator());
    if (!made || !audit) return {made ? "no audit" : std::string(made.error().text()), 0, 0, {}};
    made->open_shelf();
    Witness<Rules> witness(script_, machine_, requests_);
    std::size_t next = 0;
    std::uint64_t now = 1'000'000'000;
    std::uint64_t latest = now;
    for (std::uint32_t step = 0; step < kMostSteps; ++step) {
      while (next < script_.events.size() && script_.events[next].step <= step) {
        const ScriptEvent& e = script_.events[next++];
        if (e.act == Action::jump)
          now = e.nanoseconds != 0 ? now + e.nanoseconds : now / 2;
        else
          pending_.push_back(e);
      }
      const bool drains = next == script_.events.size() && pending_.empty();
      if (drains && all_ended()) {
        verdict_.step = step;
        quiet(*made, *audit, now);
        return verdict_;
      }
      latest = std::max(latest, now);
      if (drains) {
        ready_all();
        now = latest;
      }
      one_step(*made, witness, now);
      verdict_.step = step;
      if (const auto checked = audit->run(made->state()); !checked) witness.fail(std::string(checked.error().text()));
      if (!witness.broken().empty()) {
        verdict_.broken = witness.broken();
        return verdict_;
      }
      took_ = script_.step_ns + script_.token_ns * step_tokens_ + script_.row_ns * step_rows_ +
              mixed(script_.seed, step) % (script_.step_ns / 4 + 1);
      if (step_tokens_ != 0 && !reads_prompt_) times_.learn(step_tokens_, step_drafts_, took_);
      now += took_;
      if (drains) now += 500'000'000;
    }
    verdict_.broken = "requests do not end";
    return verdict_;
  }

 private:
  static constexpr std::uint32_t kMostSteps = 6000;
  static constexpr std::uint32_t kGuesses = 6;
  /// In tags of all but submissions, whose tag is the request's number.
  static constexpr std::uint64_t kOther = std::uint64_t{1} << 32;
  /// And in those of notes about requests.
  static constexpr std::uint64_t kNote = kOther << 1;

  [[nodiscard]] static std::uint32_t number_of(std::uint64_t tag) { return static_cast<std::uint32_t>(tag); }

  void prepare() {
    std::uint32_t tenants = 0;
    std::uint32_t requests = 0;
    for (const ScriptEvent& e : script_.events) {
      tenants = std::max({tenants, e.tenant, e.session});
      requests = std::max(requests, e.request);
    }
    tenants_.resize(tenants + 1);
    sessions_.resize(tenants + 1);
    requests_.resize(requests + 1);
  }

  [[nodiscard]] bool all_ended() const {
    for (const Seen& r : requests_)
      if (r.submitted && (!r.answered || (r.accepted && !r.ended))) return false;
    return true;
  }
  void ready_all() {
    for (std::uint32_t i = 1; i < requests_.size(); ++i) {
      if (requests_[i].ended || !requests_[i].accepted || !requests_[i].is_unread()) continue;
      ScriptEvent e;
      e.act = Action::ready;
      e.request = i;
      pending_.push_back(e);
    }
  }

  /// A request's prompt: what an earlier one read and said, or a prefix that others may share; then its own.
  void write_prompt(const ScriptEvent& e, Seen& r) {
    r.prompt = e.prompt;
    r.most = e.most;
    r.adapter = e.adapter;
    r.own = e.shares ? 0 : e.request;
    r.fails_at = e.fails_at;
    r.scored = e.prompt == 0 ? 0 : std::min(e.scored, e.prompt - 1);
    r.silent = e.silent && r.scored != 0;
    const Seen* earlier = e.continues != 0 ? &requests_[e.continues] : nullptr;
    if (earlier != nullptr && (!earlier->accepted || earlier->prompt + earlier->delivered > e.prompt))
      earlier = nullptr;
    r.tokens.assign(std::size_t{e.prompt} + e.most, 0);
    for (std::uint32_t i = 0; i < e.prompt; ++i) {
      const bool again = earlier != nullptr && i < earlier->prompt + earlier->delivered;
      r.tokens[i] = again ? earlier->tokens[i] : prompt_token(e, i, script_.vocabulary);
    }
  }

  /// The arrival of an event; false if it must wait until a request or a tenant is answered, or is void.
  enum class Turn : std::uint8_t { now, later, never };
  Turn arrival_of(const ScriptEvent& e, serve::Arrival& a) {
    constexpr serve::ArrivalKind kKinds[] = {serve::ArrivalKind::create_tenant, serve::ArrivalKind::change_tenant,
                                             serve::ArrivalKind::remove_tenant, serve::ArrivalKind::open_session,
                                             serve::ArrivalKind::close_session, serve::ArrivalKind::submit,
                                             serve::ArrivalKind::cancel,        serve::ArrivalKind::client_blocked,
                                             serve::ArrivalKind::client_ready,  serve::ArrivalKind::drop_cache};
    a = {};
    a.kind = kKinds[static_cast<std::size_t>(e.act)];
    a.tag = kOther;
    a.quota = e.quota;
    switch (e.act) {
      case Action::create:
        a.tag = kOther | e.tenant;
        return Turn::now;
      case Action::open:
      case Action::change:
      case Action::remove:
        a.tag = kOther | (e.act == Action::open ? e.session : 0);
        a.subject = tenants_[e.tenant];
        return Turn::now;
      case Action::close:
        a.subject = sessions_[e.session];
        return Turn::now;
      case Action::submit: {
        Seen& r = requests_[e.request];
        write_prompt(e, r);
        r.submitted = true;
        r.target = e.target;
        a.tag = e.request;
        a.subject = tenants_[e.tenant];
        a.session = r.session = sessions_[e.session];
        a.tokens = r.tokens.data();
        a.prompt = e.prompt;
        a.most = e.most;
        a.adapter = e.adapter;
        a.scored = r.scored;
        a.shares = e.shares;
        a.step_latency = e.target;
        return Turn::now;
      }
      case Action::cancel:
      case Action::block:
      case Action::ready: {
        const Seen& r = requests_[e.request];
        if (!r.submitted || (r.answered && !r.accepted)) return Turn::never;
        if (!r.answered) return Turn::later;
        a.tag = kNote | e.request;
        a.subject = r.handle;
        return Turn::now;
      }
      case Action::drop:
        a.tag = kNote;
        return Turn::now;
      case Action::jump:
        return Turn::now;
    }
    return Turn::never;
  }

  void one_step(serve::Scheduler<Rules>& scheduler, Witness<Rules>& witness, std::uint64_t now) {
    witness.before(now);
    arrivals_.clear();
    later_.clear();
    for (const ScriptEvent& e : pending_) {
      serve::Arrival a;
      const Turn turn = arrivals_.size() < script_.limits.arrivals ? arrival_of(e, a) : Turn::later;
      if (turn == Turn::later) later_.push_back(e);
      if (turn != Turn::now) continue;
      if (e.act == Action::cancel) requests_[e.request].cancelled = true;
      arrivals_.push_back(a);
    }
    pending_.swap(later_);
    outcomes(scheduler, witness);
    witness.hears(arrivals_);
    serve::StepInput in;
    in.arrivals = {arrivals_.data(), arrivals_.size()};
    in.outcomes = {outcomes_.data(), outcomes_.size()};
    in.now = now;
    in.took = script_.timed ? took_ : 0;
    in.prompt_tokens = script_.prompt_tokens;
    guess(scheduler);
    in.drafts = {drafts_.data(), drafts_.size()};
    const std::uint64_t idle = scheduler.idle(now);
    const serve::StepPlan plan = scheduler.step(in);
    if (!plan.runs.empty()) machine_.follow(scheduler);
    if (const std::string failure = machine_.failure(); !failure.empty()) witness.fail(failure);
    const bool did_nothing = plan.runs.empty() && plan.events.empty();
    if (idle != 0 && arrivals_.empty() && !did_nothing) witness.fail("a step does something in idle time");
    if (did_nothing && scheduler.state().held == 0 && scheduler.idle(now) == 0)
      witness.fail("a step with nothing to do does not say when to come back");
    verdict_.tally.idle_steps += did_nothing ? 1u : 0u;
    for (const serve::StepEvent& e : plan.events) {
      digest(e);
      note(e);
      witness.see(e, scheduler.state());
    }
    for (const serve::Arrival& a : arrivals_)
      if (a.kind == serve::ArrivalKind::cancel && !requests_[tag_of(a.subject)].ended)
        witness.fail("a cancelled request goes on");
    witness.after(scheduler.state());
    step_tokens_ = step_drafts_ = step_rows_ = 0;
    reads_prompt_ = false;
    for (const serve::PlannedRun& run : plan.runs) {
      digest(run);
      step_tokens_ += run.count;
      step_drafts_ += run.drafts;
      step_rows_ += requests_[scheduler.state().requests[serve::row_of(run.request)].tag].told_by(run);
      reads_prompt_ = reads_prompt_ || !run.decode;
      verdict_.tally.states_loaded += run.load != serve::kNone ? 1u : 0u;
      verdict_.tally.states_unshelved += run.shelf != serve::kNone ? 1u : 0u;
    }
    verdict_.tally.floor_steps += scheduler.state().floor_slot != serve::kNone ? 1u : 0u;
    ++verdict_.tally.steps;
  }

  /// Computes the runs of the step before.
  void outcomes(const serve::Scheduler<Rules>& scheduler, Witness<Rules>& witness) {
    outcomes_.clear();
    const auto& s = scheduler.state();
    for (const serve::PlannedRun& run : s.runs) {
      const std::uint32_t row = serve::row_of(run.request);
      Seen& r = requests_[s.requests[row].tag];
      serve::Outcome o;
      o.failed = ++r.runs == r.fails_at;
      if (!o.failed) o = machine_.run(run, scheduler.pages(run.slot), r.variant());
      if (!o.failed && run.sample) o.empty = r.silent;
      if (!o.failed && r.tells()) tell(scheduler, witness, r, run);
      verdict_.tally.drafts += run.drafts;
      verdict_.tally.accepted_drafts += o.accepted;
      if (run.drafts != 0 && !o.failed) o.again ? r.luck.rest() : r.luck.learn(run.drafts, o.accepted);
      outcomes_.push_back(o);
      witness.outcome(r, s.requests[row].tenant, run, o);
    }
  }

  /// Reads the logits of a prompt that a run has computed.
  void tell(const serve::Scheduler<Rules>& scheduler, Witness<Rules>& witness, Seen& r, const serve::PlannedRun& run) {
    const std::uint32_t before = r.read;
    witness.tell(r, run, scheduler.pages(run.slot));
    verdict_.tally.told_positions += r.read - before;
    verdict_.tally.told_prompts += r.tells() ? 0u : 1u;
    verdict_.tally.told_blocked += r.stalls ? 1u : 0u;
  }

  /// Guesses the tokens of each slot that decodes behind the one that its outcome brings: as many as may be, and often
  /// too many.
  void guess(const serve::Scheduler<Rules>& scheduler) {
    drafts_.clear();
    if (script_.limits.draft_tokens == 0) return;
    const auto& s = scheduler.state();
    guesses_.assign(s.slots.size() * kGuesses, 0);
    std::uint32_t decoding = 0;
    for (const serve::SlotRow& row : s.slots) decoding += row.stage == serve::SlotStage::decode ? 1u : 0u;
    serve::DraftPay pay(times_, decoding);
    for (std::uint32_t slot = 0; slot < s.slots.size(); ++slot) {
      std::uint32_t* own = &guesses_[slot * kGuesses];
      auto count = static_cast<std::uint32_t>(mixed(script_.seed ^ slot, verdict_.tally.steps) % (kGuesses + 1));
      if (script_.weighs_drafts) count = s.work[slot].request == serve::kNone ? 0 : weighed(s, slot, pay);
      drafts_.push_back({own, count});
      if (s.work[slot].request != serve::kNone) guess(s.requests[s.work[slot].request], come(s, slot), own);
    }
  }
  /// How many guesses pay, as an engine finds it from its own times.
  std::uint32_t weighed(const serve::SchedulerState<Rules>& s, std::uint32_t slot, serve::DraftPay& pay) {
    if (s.slots[slot].stage != serve::SlotStage::decode || times_.wants_plain()) return 0;
    serve::DraftLength& luck = requests_[s.requests[s.work[slot].request].tag].luck;
    return pay.take(luck, std::min(luck.next(), kGuesses));
  }
  void guess(const serve::RequestRow& row, std::uint32_t come, std::uint32_t* own) {
    std::uint64_t hash = 0;
    const std::uint32_t variant = requests_[row.tag].variant();
    const auto entry = [variant](std::uint32_t token) { return SimulatedMachine::entry_of(token, variant); };
    for (std::uint32_t p = 0; p < row.known(); ++p) hash = mixed(hash, entry(row.tokens[p]));
    for (std::uint32_t i = 0; i < come + kGuesses; ++i) {
      const std::uint32_t token = machine_.answer(hash, hash).token;
      hash = mixed(hash, entry(token));
      const bool right = mixed(hash, verdict_.tally.steps) % 100 < script_.right_drafts;
      if (i >= come) own[i - come] = right ? token : (token + 1) % script_.vocabulary;
    }
  }
  /// Tokens that the outcome of a slot's run brings.
  [[nodiscard]] std::uint32_t come(const serve::SchedulerState<Rules>& s, std::uint32_t slot) const {
    for (std::size_t i = 0; i < s.runs.size(); ++i)
      if (s.runs[i].slot == slot && s.runs[i].sample && !outcomes_[i].again) return outcomes_[i].accepted + 1;
    return 0;
  }

  [[nodiscard]] std::size_t tag_of(serve::Handle handle) const {
    for (std::size_t i = 1; i < requests_.size(); ++i)
      if (requests_[i].handle == handle) return i;
    return 0;
  }

  void note(const serve::StepEvent& e) {
    Tally& t = verdict_.tally;
    ++t.events;
    switch (e.kind) {
      case serve::EventKind::tenant_created:
        tenants_[number_of(e.tag)] = e.subject;
        break;
      case serve::EventKind::session_opened:
        sessions_[number_of(e.tag)] = e.subject;
        break;
      case serve::EventKind::accepted:
        requests_[e.tag].handle = e.subject;
        break;
      case serve::EventKind::refused:
        ++t.refused;
        if (e.tag < kOther) requests_[e.tag].answered = true;
        break;
      case serve::EventKind::admitted:
        t.prefix_hits += e.value != 0 ? 1u : 0u;
        t.told_on_prefix += e.value != 0 && requests_[e.tag].tells() ? 1u : 0u;
        if (e.value != 0 && requests_[e.tag].generated != 0) {
          ++t.resumed_on_prefix;
          t.states_resumed += is_hybrid(script_.limits) ? 1u : 0u;
        }
        break;
      case serve::EventKind::token:
        ++t.tokens;
        break;
      case serve::EventKind::preempted:
        ++t.preemptions;
        t.told_preempted += requests_[e.tag].tells() && requests_[e.tag].read != 0 ? 1u : 0u;
        break;
      case serve::EventKind::ended:
        t.finished += e.end == serve::EndReason::length || e.end == serve::EndReason::stopped ? 1u : 0u;
        t.slow_clients += e.end == serve::EndReason::client_too_slow ? 1u : 0u;
        t.told_slow += e.end == serve::EndReason::client_too_slow && requests_[e.tag].stalls ? 1u : 0u;
        t.removed_busy += e.end == serve::EndReason::tenant_removed ? 1u : 0u;
        break;
      default:
        break;
    }
  }
  void digest(std::uint64_t word) { verdict_.digest = mixed(verdict_.digest, word); }
  void digest(const serve::StepEvent& e) {
    digest((static_cast<std::uint64_t>(e.kind) << 32) | (static_cast<std::uint64_t>(e.refusal) << 16) |
           static_cast<std::uint64_t>(e.end));
    for (const std::uint64_t word : {e.tag, e.subject, e.tenant, std::uint64_t{e.value}, e.retry_after}) digest(word);
  }
  void digest(const serve::PlannedRun& r) {
    for (const std::uint64_t word : {std::uint64_t{r.slot}, r.request, std::uint64_t{r.begin}, std::uint64_t{r.count},
                                     std::uint64_t{r.load}, std::uint64_t{r.shelf}, std::uint64_t{r.save}})
      digest(word);
  }

  /// With nothing left to do, only cached pages are in use, and none once the cache is dropped.
  void quiet(serve::Scheduler<Rules>& scheduler, serve::Audit& audit, std::uint64_t now) {
    serve::Arrival drop;
    drop.kind = serve::ArrivalKind::drop_cache;
    serve::StepInput in;
    in.arrivals = {&drop, 1};
    in.now = now;
    (void)scheduler.step(in);
    if (const auto checked = audit.run(scheduler.state()); !checked)
      verdict_.broken = std::string(checked.error().text());
    if (scheduler.state().pages.free_pages().size() != script_.limits.pages) verdict_.broken = "pages are lost";
    if (scheduler.state().budget.floating_used() != 0) verdict_.broken = "charges are lost";
  }

  const Script& script_;
  Rules rules_;
  SimulatedMachine machine_;
  Verdict verdict_{};
  std::vector<serve::Handle> tenants_{};
  std::vector<serve::Handle> sessions_{};
  std::vector<Seen> requests_{};
  std::vector<ScriptEvent> pending_{};
  std::vector<ScriptEvent> later_{};
  std::vector<serve::Arrival> arrivals_{};
  std::vector<serve::Outcome> outcomes_{};
  std::vector<serve::Draft> drafts_{};
  std::vector<std::uint32_t> guesses_{};  ///< [slots][kGuesses]
  serve::DraftTimes times_{};
  std::uint64_t took_ = 0;  ///< nanoseconds of the last step
  std::uint32_t step_tokens_ = 0;
  std::uint32_t step_drafts_ = 0;
  std::uint32_t step_rows_ = 0;  ///< of prompts that are told
  bool reads_prompt_ = false;
};

template <class Rules> [[nodiscard]] Verdict verdict_of(const Script& script, Rules rules) {
  return Simulation<Rules>(script, rules).run();
}

/// Leaves events out, and makes requests smaller, as long as the script still fails.
template <class Fails> [[nodiscard]] Script shrunk_while(Script script, const Fails& fails) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t part = std::max<std::size_t>(script.events.size() / 2, 1); part > 0; part /= 2)
      for (std::size_t at = 0; at < script.events.size();) {
        Script tried = script;
        const auto begin = tried.events.begin() + static_cast<std::ptrdiff_t>(at);
        const auto count = static_cast<std::ptrdiff_t>(std::min(part, script.events.size() - at));
        tried.events.erase(begin, begin + count);
        if (fails(tried)) {
          script = tried;
          smaller = true;
        } else {
          at += part;
        }
      }
    for (std::size_t i = 0; i < script.events.size(); ++i)
      for (std::uint32_t ScriptEvent::* field :
           {&ScriptEvent::prompt, &ScriptEvent::most, &ScriptEvent::step, &ScriptEvent::scored}) {
        Script tried = script;
        std::uint32_t& value = tried.events[i].*field;
        if (value < 2 || (field == &ScriptEvent::step && i != 0 && value / 2 < tried.events[i - 1].step)) continue;
        value /= 2;
        if (!fails(tried)) continue;
        script = tried;
        smaller = true;
      }
  }
  return script;
}
template <class Rules> [[nodiscard]] Script shrunk(const Script& script, Rules rules) {
  return shrunk_while(script, [&rules](const Script& s) { return !verdict_of(s, rules).broken.empty(); });
}

}  // namespace simulate
