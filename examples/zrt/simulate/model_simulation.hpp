// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate/model_simulation.hpp: runs scripts of several models through a set of them.
#pragma once

#include "model_witness.hpp"
#include "simulation.hpp"
#include <zrt/engine/model_set.hpp>

namespace simulate {

/// How often the interesting things happened.
struct ModelTally {
  std::uint64_t steps = 0;
  std::uint64_t tokens = 0;
  std::uint64_t finished = 0;
  std::uint64_t evictions = 0;
  std::uint64_t reopenings = 0;
  std::uint64_t drains = 0;
  std::uint64_t lost = 0;               ///< times that a model could not come back
  std::uint64_t cancelled_outside = 0;  ///< requests of models that were not in memory
  std::uint64_t told_prompts = 0;       ///< prompts whose wanted logits were all read

  void add(const ModelTally& t) {
    steps += t.steps;
    tokens += t.tokens;
    finished += t.finished;
    evictions += t.evictions;
    reopenings += t.reopenings;
    drains += t.drains;
    lost += t.lost;
    cancelled_outside += t.cancelled_outside;
    told_prompts += t.told_prompts;
  }
};

struct ModelVerdict {
  std::string broken{};  ///< the first promise that was, or empty
  std::uint32_t step = 0;
  std::uint64_t digest = 0;
  ModelTally tally{};
};

/// Runs a script to its end, and then until every request has ended.
template <class Rules> class ModelSimulation {
 public:
  ModelSimulation(const ModelScript& script, Rules rules) : script_(script), rules_(rules) {}

  ModelVerdict run() {
    if (!open()) return verdict_;
    ModelWitness witness(script_, world_, engines_, tenants_);
    std::size_t next = 0;
    for (std::uint32_t step = 0; step < kMostSteps && world_.broken.empty(); ++step) {
      verdict_.step = step;
      const std::vector<ScriptEvent>& events = script_.events.events;
      for (; next < events.size() && events[next].step <= step; ++next) act(events[next], witness);
      const bool drains = next == events.size();
      if (drains && all_ended()) return quiet();
      one_step(witness);
      world_.now += script_.events.step_ns + mixed(script_.events.seed, step) % (script_.events.step_ns / 4 + 1);
      if (drains) world_.now += 500'000'000;
    }
    verdict_.broken = world_.broken.empty() ? "requests do not end" : world_.broken;
    return verdict_;
  }

 private:
  static constexpr std::uint32_t kMostSteps = 6000;
  using Set = zrt::ModelSet<SimulatedEngine, Rules>;

  struct Place {
    std::size_t model = 0;
    zrt::RequestId id{};
    bool sent = false;
  };

  [[nodiscard]] bool open() {
    zrt::ModelSetOptions options;
    options.memory = script_.memory;
    options.turn_patience = script_.turn_patience;
    options.memory_patience = script_.memory_patience;
    auto set = Set::make(options, rules_);
    if (!set) return false;
    set_.emplace(std::move(*set));
    for (std::size_t m = 0; m < script_.limits.size(); ++m) {
      Script own;
      own.seed = mixed(script_.events.seed, m);
      own.limits = script_.limits[m];
      own.vocabulary = script_.events.vocabulary;
      own.prompt_tokens = script_.events.prompt_tokens;
      engines_.push_back(std::make_unique<SimulatedEngine>(own, world_, script_.bytes[m], script_.fails[m]));
      const bool added = engines_[m]->open() && set_->add(*engines_[m]);
      if (!added) verdict_.broken = "a model is refused";
      if (!added) return false;
    }
    std::uint32_t tenants = 0, requests = 0;
    for (const ScriptEvent& e : script_.events.events) {
      tenants = std::max(tenants, e.tenant);
      requests = std::max(requests, e.request);
    }
    tenants_.resize(tenants + 1);
    places_.resize(requests + 1);
    return true;
  }

  [[nodiscard]] bool all_ended() const {
    for (const auto& e : engines_)
      for (const Sent& r : e->sent())
        if (!r.ended) return false;
    return true;
  }

  void act(const ScriptEvent& e, ModelWitness& witness) {
    SetTenant& t = tenants_[e.tenant];
    switch (e.act) {
      case Action::jump:
        world_.now += e.nanoseconds;
        return;
      case Action::create: {
        const auto made = set_->create_tenant(e.quota);
        if (!made) return;
        t = {*made, {}, e.quota, true};
        for (const auto& engine : engines_) t.ids.push_back(engine->made());
        return witness.tenant_begins(e.tenant);
      }
      case Action::change: {
        if (!t.live || !set_->change_tenant(t.id, e.quota)) return;
        const serve::TenantQuota before = t.quota;
        t.quota = e.quota;
        t.quota.service = before.service;
        return;
      }
      case Action::remove:
        if (t.live && set_->remove_tenant(t.id)) t.live = false;
        return;
      case Action::submit:
        return submit(e, t, witness);
      case Action::cancel: {
        const Place& place = places_[e.request];
        if (!place.sent) return;
        Sent& r = engines_[place.model]->sent()[static_cast<std::size_t>(place.id)];
        verdict_.tally.cancelled_outside += !r.ended && !engines_[place.model]->is_resident() ? 1u : 0u;
        r.cancelled = true;
        return set_->cancel(zrt::ModelId{static_cast<std::uint32_t>(place.model)}, place.id);
      }
      default:
        return;
    }
  }
  void submit(const ScriptEvent& e, const SetTenant& t, ModelWitness& witness) {
    if (!t.live) return;
    std::vector<std::int32_t> prompt(e.prompt);
    for (std::uint32_t i = 0; i < e.prompt; ++i)
      prompt[i] = static_cast<std::int32_t>(prompt_token(e, i, script_.events.vocabulary));
    zrt::Request request;
    request.tokens = {prompt.data(), prompt.size()};
    request.max_tokens = e.most;
    request.prompt_log_probabilities = e.scored != 0 ? 1 : 0;
    request.tenant = t.id;
    const auto id = set_->submit(zrt::ModelId{e.model}, request);
    if (!id) return world_.fail("a request is refused that has a tenant");
    places_[e.request] = {e.model, *id, true};
    Sent& r = engines_[e.model]->sent()[static_cast<std::size_t>(*id)];
    r.tenant = t.id;
    witness.sent(e.model, r);
  }

  void one_step(ModelWitness& witness) {
    const auto on_token = [this](zrt::ModelId, zrt::RequestId, const zrt::Token& token) {
      digest(static_cast<std::uint64_t>(token.id) << 8 | static_cast<std::uint64_t>(token.finish));
      verdict_.tally.tokens += token.id != zrt::kNoToken ? 1u : 0u;
      verdict_.tally.finished += token.finish == zrt::FinishReason::length ? 1u : 0u;
      return true;
    };
    for (const auto& e : engines_) e->read_ahead();
    // As the step begins, so that the witness sees what is left to do.
    if (const auto heard = set_->hear(on_token); !heard) world_.fail(std::string(heard.error().text()));
    witness.before();
    const auto left = set_->step(on_token);
    if (!left && left.error().code() != zrt::Errc::device_lost) world_.fail(std::string(left.error().text()));
    verdict_.tally.lost += left ? 0u : 1u;
    std::vector<bool> drains;
    std::size_t stepped = engines_.size();
    for (std::size_t m = 0; m < engines_.size(); ++m) {
      const auto report = set_->report(zrt::ModelId{static_cast<std::uint32_t>(m)});
      if (!report) return world_.fail("a model has no report");
      drains.push_back(report->drains);
      if (report->steps != steps_[m]) stepped = m;
      steps_[m] = report->steps;
      verdict_.tally.drains += drains[m] && !drained_[m] ? 1u : 0u;
      drained_[m] = drains[m];
    }
    witness.after(stepped, !left, drains);
    for (const auto& e : engines_)
      for (const serve::PlannedRun& run : e->runs()) digest(run.count);
    ++verdict_.tally.steps;
  }
  void digest(std::uint64_t word) { verdict_.digest = mixed(verdict_.digest, word); }

  /// With nothing left to do no page is lost.
  [[nodiscard]] ModelVerdict quiet() {
    // Cancels of requests that have ended are still to be read.
    for (std::size_t m = 0; m < engines_.size() && set_->idle_ns() != zrt::kUntilSubmit; ++m)
      (void)set_->step([](zrt::ModelId, zrt::RequestId, const zrt::Token&) { return true; });
    for (const auto& e : engines_) {
      verdict_.tally.evictions += e->evictions();
      verdict_.tally.reopenings += e->reopenings();
      for (const Sent& r : e->sent()) verdict_.tally.told_prompts += r.scored != 0 && r.read == r.scored ? 1u : 0u;
      if (e->running() != 0) world_.fail("a slot is lost");
      if (e->is_resident())
        if (const auto gone = e->evict(); !gone) world_.fail(std::string(gone.error().text()));
    }
    if (set_->idle_ns() != zrt::kUntilSubmit) world_.fail("a set without requests has something to do");
    verdict_.broken = world_.broken;
    return verdict_;
  }

  const ModelScript& script_;
  Rules rules_;
  World world_{};
  std::vector<std::unique_ptr<SimulatedEngine>> engines_{};
  std::optional<Set> set_{};
  std::vector<SetTenant> tenants_{};
  std::vector<Place> places_{};
  std::array<bool, 3> drained_{};
  std::array<std::uint64_t, 3> steps_{};
  ModelVerdict verdict_{};
};

template <class Rules> [[nodiscard]] ModelVerdict verdict_of(const ModelScript& script, Rules rules) {
  return ModelSimulation<Rules>(script, rules).run();
}

/// The same script with fewer events, as long as it fails.
template <class Rules> [[nodiscard]] ModelScript shrunk(const ModelScript& script, Rules rules) {
  ModelScript small = script;
  small.events = shrunk_while(script.events, [&](const Script& events) {
    ModelScript tried = script;
    tried.events = events;
    return !verdict_of(tried, rules).broken.empty();
  });
  return small;
}

}  // namespace simulate
