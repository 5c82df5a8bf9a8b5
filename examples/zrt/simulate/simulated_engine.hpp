// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate/simulated_engine.hpp: the calls of an engine that a set of models makes, over the scheduler and a modelled machine.
#pragma once

#include "machine.hpp"
#include <zrt/engine/held_memory.hpp>
#include <zrt/engine/request.hpp>
#include <zrt/serve/audit.hpp>

#include <memory>
#include <optional>

namespace simulate {

/// A request of one model, as its client sees it.
struct Sent {
  zrt::TenantId tenant{};               ///< the set's
  std::vector<std::uint32_t> tokens{};  ///< the prompt, and room for the answer
  std::uint32_t prompt = 0;
  std::uint32_t most = 0;
  serve::Handle owner = 0;
  serve::Handle handle = 0;
  std::uint32_t delivered = 0;
  std::uint32_t scored = 0;     ///< leading positions whose logits are wanted, and
  std::uint32_t read = 0;       ///< of these, those that were read
  std::uint64_t told_hash = 0;  ///< of the first `read` tokens
  bool cancelled = false;
  bool ended = false;
  bool whole = false;  ///< the answer is complete
};

/// What the models of a machine have in common.
struct World {
  std::uint64_t now = 1'000'000'000;
  std::string broken{};  ///< the first promise that was, or empty

  void fail(const std::string& what) {
    if (broken.empty()) broken = what;
  }
};

/// A model on the simulated machine. Its memory is made anew each time that it comes back, so that what stayed in it from
/// before would change an answer.
class SimulatedEngine {
 public:
  SimulatedEngine(Script script, World& world, std::uint64_t bytes, std::uint32_t fails)
      : script_(std::move(script)), world_(world), bytes_(bytes), fails_(fails), alone_(script_) {}

  [[nodiscard]] bool open() {
    auto scheduler = serve::Scheduler<>::make(script_.limits, zrt::system_allocator());
    auto audit = serve::Audit::make(script_.limits, zrt::system_allocator());
    if (!scheduler || !audit) return false;
    scheduler_.emplace(std::move(*scheduler));
    audit_.emplace(std::move(*audit));
    scheduler_->open_shelf();
    machine_ = std::make_unique<SimulatedMachine>(script_);
    serve::TenantQuota host;
    host.max_slots = script_.limits.slots;
    host.max_pages = script_.limits.pages;
    host.max_context = script_.limits.context;
    host.decode_tokens_per_s = host.prefill_tokens_per_s = ~0u;
    const auto made = create_tenant(host);
    if (made) host_ = static_cast<serve::Handle>(*made);
    return made.has_value();
  }

  // --- what zrt::ModelSet asks of an engine ---

  [[nodiscard]] std::uint64_t idle_ns() const {
    if (!mail_.empty() || !cancels_.empty() || lost_ || seen_ < scheduler_->events().size()) return 0;
    return left_ == 0 ? zrt::kUntilSubmit : scheduler_->idle(world_.now);
  }
  [[nodiscard]] std::uint64_t rate_wait_ns() { return scheduler_->rate_wait(world_.now); }
  [[nodiscard]] bool is_resident() const { return machine_ != nullptr; }
  [[nodiscard]] std::size_t running() const {
    std::size_t count = 0;
    for (const serve::SlotRow& row : scheduler_->state().slots) count += row.request != 0 ? 1u : 0u;
    return count;
  }
  [[nodiscard]] zrt::HeldMemory memory() const { return {is_resident() ? bytes_ : 0, 0, 0}; }
  [[nodiscard]] zrt::Result<void> evict() {
    if (running() != 0) return zrt::fail(zrt::Errc::invalid_state, "a model goes in the middle of a request");
    if (!is_resident()) world_.fail("a model goes that is not there");
    scheduler_->admit(false);
    scheduler_->drop_cache();
    if (scheduler_->state().pages.free_pages().size() != script_.limits.pages)
      world_.fail("a model that is not in memory has pages");
    machine_.reset();
    holds_ = false;
    ++evictions_;
    return {};
  }
  [[nodiscard]] zrt::Result<void> reopen() {
    if (is_resident()) return {};
    if (scheduler_->rate_wait(world_.now) != 0)
      world_.fail("a model comes back though its requests wait for their rates");
    if (mixed(script_.seed, ++attempts_) % 100 < fails_) {
      lost_ = true;
      return zrt::fail(zrt::Errc::device_lost, "the model cannot be read");
    }
    machine_ = std::make_unique<SimulatedMachine>(script_);
    scheduler_->admit(true);
    ++reopenings_;
    return {};
  }
  [[nodiscard]] zrt::Result<void> hold(bool on) {
    if (is_resident()) scheduler_->admit(!on);
    holds_ = on && is_resident();
    return {};
  }
  [[nodiscard]] static zrt::Result<void> expect_tenants() { return {}; }
  [[nodiscard]] zrt::Result<zrt::TenantId> create_tenant(const serve::TenantQuota& quota) {
    const auto answer = manage(serve::ArrivalKind::create_tenant, {}, quota);
    if (answer.refusal != serve::Refusal::none) return refused(answer);
    return made_ = zrt::TenantId{answer.subject};
  }
  [[nodiscard]] zrt::Result<void> change_tenant(zrt::TenantId tenant, const serve::TenantQuota& quota) {
    const auto answer = manage(serve::ArrivalKind::change_tenant, tenant, quota);
    if (answer.refusal != serve::Refusal::none) return refused(answer);
    return {};
  }
  [[nodiscard]] zrt::Result<void> remove_tenant(zrt::TenantId tenant) {
    const auto answer = manage(serve::ArrivalKind::remove_tenant, tenant, {});
    if (answer.refusal != serve::Refusal::none) return refused(answer);
    return {};
  }
  [[nodiscard]] serve::TenantUse use(zrt::TenantId tenant) {
    serve::TenantUse use = scheduler_->use(handle(tenant), world_.now);
    for (const std::size_t i : mail_) use.ready = use.ready || sent_[i].owner == handle(tenant);
    return use;
  }
  void charge(zrt::TenantId tenant, const serve::TenantUse& elsewhere) {
    scheduler_->charge(handle(tenant), elsewhere, world_.now);
  }
  [[nodiscard]] zrt::Result<zrt::RequestId> submit(const zrt::Request& request) {
    Sent r;
    r.owner = handle(request.tenant);
    r.prompt = static_cast<std::uint32_t>(request.tokens.size());
    r.most = request.max_tokens;
    if (request.prompt_log_probabilities != 0) r.scored = r.prompt - 1;
    for (const std::int32_t token : request.tokens) r.tokens.push_back(static_cast<std::uint32_t>(token));
    r.tokens.resize(std::size_t{r.prompt} + r.most);
    mail_.push_back(sent_.size());
    sent_.push_back(std::move(r));
    return zrt::RequestId{sent_.size() - 1};
  }
  void cancel(zrt::RequestId id) { cancels_.push_back(static_cast<std::size_t>(id)); }

  template <class F> [[nodiscard]] zrt::Result<std::size_t> hear(const F& on_token) {
    tell(on_token);
    for (const std::size_t i : cancels_) end(i, on_token);
    cancels_.clear();
    return left_;
  }
  template <class F> [[nodiscard]] zrt::Result<std::size_t> step(const F& on_token) {
    (void)hear(on_token);
    if (lost_)
      for (std::size_t i = 0; i < sent_.size(); ++i)
        if (!sent_[i].ended) end(i, on_token);
    lost_ = false;
    read_mail();
    serve::StepInput in;
    in.arrivals = {arrivals_.data(), arrivals_.size()};
    in.now = world_.now;
    in.prompt_tokens = script_.prompt_tokens;
    seen_ = 0;
    const serve::StepPlan plan = scheduler_->step(in);
    tell(on_token);
    runs_.assign(plan.runs.begin(), plan.runs.end());
    if (!plan.runs.empty()) compute(plan, on_token);
    if (const auto checked = audit_->run(scheduler_->state()); !checked)
      world_.fail(std::string(checked.error().text()));
    return left_;
  }

  // --- what a witness sees ---

  [[nodiscard]] std::vector<Sent>& sent() { return sent_; }
  /// Of the last step.
  [[nodiscard]] const std::vector<serve::PlannedRun>& runs() const { return runs_; }
  void forget_runs() { runs_.clear(); }
  [[nodiscard]] bool holds() const { return holds_; }
  /// Whether a request has ended, be it that the next step is to tell of it.
  [[nodiscard]] bool has_ended(const Sent& r) const {
    return r.ended || (r.handle != 0 && scheduler_->state().find_request(r.handle) == serve::kNone);
  }
  /// The tenant that was created last.
  [[nodiscard]] zrt::TenantId made() const { return made_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }
  [[nodiscard]] std::uint64_t reopenings() const { return reopenings_; }
  /// Reads what was sent, as a step does, and plans nothing.
  void read_ahead() {
    if (is_resident() || mail_.empty()) return;
    read_mail();
    for (const serve::Arrival& a : arrivals_) scheduler_->arrive(a);
    tell([](zrt::RequestId, const zrt::Token&) { return true; });
  }

 private:
  [[nodiscard]] serve::Handle handle(zrt::TenantId tenant) const {
    return tenant == zrt::TenantId{} ? host_ : static_cast<serve::Handle>(tenant);
  }
  [[nodiscard]] serve::StepEvent manage(serve::ArrivalKind kind, zrt::TenantId tenant,
                                        const serve::TenantQuota& quota) {
    serve::Arrival a;
    a.kind = kind;
    a.subject = static_cast<serve::Handle>(tenant);
    a.quota = quota;
    return scheduler_->ask(a);
  }
  [[nodiscard]] static std::unexpected<zrt::Error> refused(const serve::StepEvent& answer) {
    return zrt::fail(zrt::Errc::capacity_exceeded, "the tenant is refused: ", serve::name(answer.refusal));
  }

  void read_mail() {
    arrivals_.clear();
    for (const std::size_t i : mail_) {
      Sent& r = sent_[i];
      if (r.ended) continue;
      serve::Arrival a;
      a.tag = i + 1;
      a.subject = r.owner;
      a.tokens = r.tokens.data();
      a.prompt = r.prompt;
      a.most = r.most;
      a.scored = r.scored;
      arrivals_.push_back(a);
      ++left_;
    }
    mail_.clear();
  }

  /// Ends a request wherever it is, as a cancel does.
  template <class F> void end(std::size_t i, const F& on_token) {
    Sent& r = sent_[i];
    if (r.ended) return;
    if (r.handle == 0) {
      r.ended = true;
      std::erase(mail_, i);
      zrt::Token last;
      last.finish = zrt::FinishReason::cancelled;
      (void)on_token(zrt::RequestId{i}, last);
      return;
    }
    serve::Arrival note;
    note.kind = serve::ArrivalKind::cancel;
    note.subject = r.handle;
    scheduler_->arrive(note);
    tell(on_token);
    if (!r.ended) world_.fail("a cancelled request goes on");
  }

  template <class F> void compute(const serve::StepPlan& plan, const F& on_token) {
    if (!is_resident()) return world_.fail("a model computes that is not in memory");
    machine_->follow(*scheduler_);
    outcomes_.clear();
    std::size_t rows = 0;
    for (const serve::PlannedRun& run : plan.runs) {
      outcomes_.push_back(machine_->run(run, scheduler_->pages(run.slot)));
      rows += tell_prompt(run) + (run.sample ? 1u : 0u);
    }
    if (rows > plan.runs.size() + script_.limits.scored_rows)
      world_.fail("more rows reach the head than there is room for");
    if (const std::string failure = machine_->failure(); !failure.empty()) world_.fail(failure);
    scheduler_->settle({outcomes_.data(), outcomes_.size()});
    tell(on_token);
  }

  /// Reads the wanted logits of a run, each once and in order; gives how many.
  [[nodiscard]] std::size_t tell_prompt(const serve::PlannedRun& run) {
    const auto& s = scheduler_->state();
    Sent& r = sent_[s.requests[serve::row_of(run.request)].tag - 1];
    if (r.read == r.scored) return 0;
    if (run.begin > r.read) world_.fail("logits of a prompt are left out");
    const std::uint32_t before = r.read;
    const std::uint32_t end = std::min(run.begin + run.count, r.scored);
    for (; r.read < end; ++r.read) {
      r.told_hash = mixed(r.told_hash, r.tokens[r.read]);
      if (machine_->read(scheduler_->pages(run.slot), r.read + 1) != r.told_hash)
        world_.fail("logits of a prompt are not what they are alone");
    }
    if (run.sample && r.read != r.scored) world_.fail("a token is drawn before the prompt is told");
    return r.read - before;
  }

  template <class F> void tell(const F& on_token) {
    for (; seen_ < scheduler_->events().size(); ++seen_) {
      const serve::StepEvent e = scheduler_->events()[seen_];
      if (e.tag == 0) continue;
      const auto id = zrt::RequestId{e.tag - 1};
      Sent& r = sent_[e.tag - 1];
      zrt::Token token;
      if (e.kind == serve::EventKind::accepted) {
        r.handle = e.subject;
      } else if (e.kind == serve::EventKind::admitted) {
        if (holds_) world_.fail("a model that makes room begins a request");
      } else if (e.kind == serve::EventKind::token) {
        check(r, e.value);
        token.id = static_cast<std::int32_t>(e.value);
        (void)on_token(id, token);
      } else if (e.kind == serve::EventKind::refused || e.kind == serve::EventKind::ended) {
        if (r.ended) world_.fail("a request ends twice");
        r.ended = true;
        r.whole = e.end == serve::EndReason::length || e.end == serve::EndReason::stopped;
        if (e.end == serve::EndReason::length && r.delivered != r.most) world_.fail("an answer is cut short");
        --left_;
        token.finish = r.whole ? zrt::FinishReason::length : zrt::FinishReason::cancelled;
        (void)on_token(id, token);
      }
    }
  }
  /// Holds a token to what it is alone.
  void check(Sent& r, std::uint32_t token) {
    std::uint64_t hash = 0;
    for (std::uint32_t p = 0; p < r.prompt + r.delivered; ++p) hash = mixed(hash, r.tokens[p]);
    if (alone_.answer(hash, hash).token != token) world_.fail("a token is not what it is alone");
    ++r.delivered;
  }

  Script script_;
  World& world_;
  std::uint64_t bytes_;
  std::uint32_t fails_;     ///< of a hundred attempts to come back
  SimulatedMachine alone_;  ///< answers, and holds nothing
  std::optional<serve::Scheduler<>> scheduler_{};
  std::optional<serve::Audit> audit_{};
  std::unique_ptr<SimulatedMachine> machine_{};  ///< null while it is not in memory
  serve::Handle host_ = 0;
  zrt::TenantId made_{};
  std::vector<Sent> sent_{};
  std::vector<std::size_t> mail_{};
  std::vector<std::size_t> cancels_{};
  std::vector<serve::Arrival> arrivals_{};
  std::vector<serve::Outcome> outcomes_{};
  std::vector<serve::PlannedRun> runs_{};
  std::size_t seen_ = 0;
  std::size_t left_ = 0;
  std::uint64_t attempts_ = 0;
  std::uint64_t evictions_ = 0;
  std::uint64_t reopenings_ = 0;
  bool holds_ = false;
  bool lost_ = false;
};

}  // namespace simulate
