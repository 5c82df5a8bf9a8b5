// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate/model_witness.hpp: what models that share a machine were promised, checked against what a set of them did.
#pragma once

#include "model_script.hpp"
#include "rate_window.hpp"
#include "simulated_engine.hpp"

#include <array>

namespace simulate {

/// A tenant as the host of a set knows it.
struct SetTenant {
  zrt::TenantId id{};
  std::vector<zrt::TenantId> ids{};  ///< by model, as each calls it
  serve::TenantQuota quota{};
  bool live = false;
};

/// Holds each step of a set against the promises: one model a step, memory within its bound, turns by class and service,
/// nobody passed over for long, rates over all models. It keeps its own counts.
class ModelWitness {
 public:
  using Engines = std::vector<std::unique_ptr<SimulatedEngine>>;

  ModelWitness(const ModelScript& script, World& world, Engines& engines, std::vector<SetTenant>& tenants)
      : script_(script),
        world_(world),
        engines_(engines),
        tenants_(tenants),
        kept_(tenants.size()),
        models_(engines.size()) {}

  void tenant_begins(std::size_t t) { kept_[t] = {}; }
  /// A request was sent to a model: how long one there may take.
  void sent(std::size_t m, const Sent& r) {
    const bool slow = script_.events.prompt_tokens < 2 * zrt::kPageTokens || r.scored != 0;
    const std::uint32_t read = slow ? 1 : zrt::kPageTokens;
    models_[m].longest = std::max(models_[m].longest, (r.prompt + r.most) / read + r.most + 4);
  }

  /// Before a step, when all was read.
  void before() {
    note_tenants();
    for (std::size_t m = 0; m < engines_.size(); ++m) {
      SimulatedEngine& e = *engines_[m];
      Model& model = models_[m];
      model.ready = e.is_resident() && e.idle_ns() == 0;
      model.resident = e.is_resident();
      model.evictions = e.evictions();
      model.reopenings = e.reopenings();
      model.runs_before = e.running();
      model.has_requests = has_requests(m);
      e.forget_runs();
      front(m, model);
      // One that waits for memory.
      const bool waits = !e.is_resident() && model.has_requests && e.rate_wait_ns() == 0;
      if (!waits) model.wants = model.lacks = 0;
      model.waits = waits;
    }
  }

  /// After a step of model `stepped`, if it is one; `drains` says by model whether the set lets it run empty.
  void after(std::size_t stepped, bool failed, const std::vector<bool>& drains) {
    one_model(stepped);
    memory();
    places(drains);
    turns(stepped, failed);
    cancels();
    services();
    rates();
  }

 private:
  struct Kept {
    bool busy = false;
    std::uint64_t had = 0;
    std::vector<serve::TenantUse> seen{};  ///< by model
    RateWindow decoded{};
    RateWindow prefilled{};
  };
  struct Model {
    bool ready = false, resident = false, waits = false, has_requests = false;
    std::uint64_t evictions = 0, reopenings = 0;
    std::size_t runs_before = 0;
    std::uint32_t service = 0;  ///< of the tenant in front
    std::uint64_t had = 0;
    std::uint32_t waited = 0;   ///< steps in which it could step and did not
    std::uint32_t since = 0;    ///< the same, steps in which nobody did, and those in which it waited for memory
    std::uint32_t wants = 0;    ///< steps that it waited for memory
    std::uint32_t lacks = 0;    ///< of these, those in which nobody stood in its way that waits for a rate
    std::uint32_t stays = 0;    ///< steps since it came
    std::uint32_t longest = 0;  ///< steps of its longest request
    std::uint64_t stepped = 0;  ///< when it stepped last, by steps
    bool drained = false;
    // Of moves_, those that were
    std::uint32_t until_step = 0;  ///< when it stepped last
    std::uint32_t until_came = 0;  ///< when it came
    std::uint32_t until_lack = 0;  ///< before it lacked memory
  };
  /// By which counts of service may differ that were rounded at different times.
  static constexpr std::uint64_t kRounding = 4000;

  void fail(const std::string& what) { world_.fail(what); }
  [[nodiscard]] static std::string called(std::size_t m) { return "model " + std::to_string(m); }

  [[nodiscard]] bool has_requests(std::size_t m) const {
    for (const Sent& r : engines_[m]->sent())
      if (counts(m, r)) return true;
    return false;
  }
  /// Whether a request is there for the set: a cancelled one ends before anything else.
  [[nodiscard]] bool counts(std::size_t m, const Sent& r) const { return !engines_[m]->has_ended(r) && !r.cancelled; }

  /// Whether a step of a model could do something for a tenant.
  [[nodiscard]] bool asks(std::size_t t, std::size_t m) const {
    for (const Sent& r : engines_[m]->sent())
      if (r.tenant == tenants_[t].id && counts(m, r)) return engines_[m]->use(tenants_[t].ids[m]).ready;
    return false;
  }
  [[nodiscard]] bool asks(std::size_t t) const {
    for (std::size_t m = 0; m < engines_.size(); ++m)
      if (asks(t, m)) return true;
    return false;
  }
  /// Tenants that come back are lifted to what the tenant had for which a model stepped last, whatever order they stand in.
  void note_tenants() {
    for (std::size_t t = 0; t < tenants_.size(); ++t) {
      if (!tenants_[t].live) continue;
      const bool busy = asks(t);
      const std::uint64_t time = time_[static_cast<std::size_t>(tenants_[t].quota.service)];
      if (busy && !kept_[t].busy) kept_[t].had = std::max(kept_[t].had, time);
      kept_[t].busy = busy;
    }
  }
  void front(std::size_t m, Model& model) const {
    model.service = serve::kServiceClasses;
    model.had = 0;
    for (std::size_t t = 0; t < tenants_.size(); ++t) {
      if (!tenants_[t].live) continue;
      const auto rank = static_cast<std::uint32_t>(tenants_[t].quota.service);
      if (!asks(t, m) || rank > model.service || (rank == model.service && kept_[t].had >= model.had)) continue;
      model.service = rank;
      model.had = kept_[t].had;
    }
  }

  void one_model(std::size_t stepped) {
    for (std::size_t m = 0; m < engines_.size(); ++m)
      if (m != stepped && !engines_[m]->runs().empty()) fail("a step computes another model than its own");
  }
  /// A cancel is heard in the set's next step, whichever model that is of.
  void cancels() {
    for (const auto& e : engines_)
      for (const Sent& r : e->sent())
        if (r.cancelled && !r.ended) fail("a cancelled request goes on");
  }
  void memory() {
    std::uint64_t used = 0;
    for (const auto& e : engines_) used += e->is_resident() ? e->bytes() : 0;
    if (script_.memory != 0 && used > script_.memory) fail("models in memory exceed its bound");
  }

  /// Who went, and for whom.
  void places(const std::vector<bool>& drains) {
    std::uint32_t hungry = 0;  // the longest wait for memory
    bool stalls = false;
    for (std::size_t m = 0; m < engines_.size(); ++m) {
      hungry = std::max(hungry, models_[m].waits ? models_[m].wants : 0);
      stalls = stalls || (models_[m].resident && models_[m].runs_before != 0 && !models_[m].ready);
    }
    // One may run empty and go in the same step.
    const std::uint32_t patience = std::min(script_.turn_patience, script_.memory_patience);
    for (std::size_t m = 0; m < engines_.size(); ++m) {
      SimulatedEngine& e = *engines_[m];
      Model& model = models_[m];
      const bool went = e.evictions() != model.evictions;
      if (went) model.since = 0;
      if (went && model.has_requests && !model.drained && !drains[m] && hungry + 1 < patience)
        fail(called(m) + " goes though it has requests and nobody has waited");
      if (went && !model.has_requests && !model.drained) oldest(m);
      const bool begins = drains[m] && !model.drained;
      if (begins && model.stays + 1 + (moves_ - model.until_came) < script_.memory_patience)
        fail(called(m) + " makes room though it came just now");
      if (e.is_resident() && drains[m] && !e.holds()) fail(called(m) + " is to run empty and begins requests");
      model.drained = drains[m] && e.is_resident();
      model.stays = e.reopenings() != model.reopenings ? 0 : model.stays + 1;
      if (model.stays == 0) model.until_came = moves_;
      const bool lacks = model.waits && !e.is_resident();
      model.wants = lacks ? model.wants + 1 : 0;
      model.lacks = !lacks ? 0 : stalls ? model.lacks : model.lacks + 1;
      if (!lacks) model.until_lack = moves_;
      if (model.lacks > most_lack(model)) fail(called(m) + " waits for memory for ever");
    }
  }
  /// Of those without requests nobody was unused for longer than the one that went.
  void oldest(std::size_t went) {
    for (std::size_t m = 0; m < engines_.size(); ++m)
      if (m != went && models_[m].resident && !models_[m].ready && !models_[m].has_requests &&
          engines_[m]->is_resident() && engines_[m]->reopenings() == models_[m].reopenings &&
          models_[m].stepped < models_[went].stepped)
        fail(called(went) + " goes before one that was unused for longer");
  }
  /// Each other model may wait before, keep its place, and run empty.
  [[nodiscard]] std::uint32_t most_lack(const Model& model) const {
    const auto count = static_cast<std::uint32_t>(engines_.size());
    std::uint32_t longest = 0;
    for (std::size_t m = 0; m < engines_.size(); ++m)
      longest = std::max(longest, models_[m].longest * script_.limits[m].slots);
    return count * (2 * script_.memory_patience + longest * (script_.turn_patience + count)) +
           kMoves * (moves_ - model.until_lack);
  }

  void turns(std::size_t stepped, bool failed) {
    moves_ += failed ? 1 : 0;
    ++steps_;
    if (stepped < engines_.size() && models_[stepped].service < serve::kServiceClasses) {
      std::uint64_t& time = time_[models_[stepped].service];
      time = std::max(time, models_[stepped].had);
    }
    if (stepped < engines_.size() && models_[stepped].ready &&
        models_[stepped].since + (moves_ - models_[stepped].until_step) + 1 < script_.turn_patience)
      for (std::size_t m = 0; m < engines_.size(); ++m)
        if (m != stepped && models_[m].ready && engines_[m]->is_resident()) in_order(models_[stepped], models_[m]);
    for (std::size_t m = 0; m < engines_.size(); ++m) {
      Model& model = models_[m];
      if (m == stepped) {
        model.stepped = steps_;
        model.until_step = moves_;
      }
      const bool passed_over = model.ready && m != stepped && engines_[m]->is_resident();
      model.waited = passed_over ? model.waited + 1 : 0;
      model.since = m == stepped || !(model.ready || model.waits) ? 0 : model.since + 1;
      if (model.waited > script_.turn_patience + engines_.size()) fail(called(m) + " is passed over");
    }
  }
  void in_order(const Model& stepped, const Model& other) {
    if (other.service < stepped.service) fail("a model steps before one whose tenant has a higher class");
    if (other.service == stepped.service && other.had + kRounding < stepped.had)
      fail("a model steps before one whose tenant has had less");
  }

  void services() {
    for (std::size_t t = 0; t < tenants_.size(); ++t) {
      if (!tenants_[t].live) continue;
      kept_[t].seen.resize(engines_.size());
      for (std::size_t m = 0; m < engines_.size(); ++m) {
        const serve::TenantUse now = engines_[m]->use(tenants_[t].ids[m]);
        kept_[t].had += now.since(kept_[t].seen[m]).service * serve::kServiceUnit / tenants_[t].quota.weight;
        kept_[t].seen[m] = now;
      }
    }
  }
  void rates() {
    for (std::size_t m = 0; m < engines_.size(); ++m)
      for (const serve::PlannedRun& run : engines_[m]->runs())
        for (std::size_t t = 0; t < tenants_.size(); ++t) {
          const Sent* const sent = sent_of(m, run);
          if (sent == nullptr || !tenants_[t].live || static_cast<serve::Handle>(tenants_[t].ids[m]) != sent->owner)
            continue;
          const serve::TenantQuota& q = tenants_[t].quota;
          const std::uint64_t most = 5 * std::uint64_t{run.decode ? q.decode_tokens_per_s : q.prefill_tokens_per_s};
          if ((run.decode ? kept_[t].decoded : kept_[t].prefilled).add(world_.now, run.count) > most)
            fail("a tenant has more of all models than its rate");
          const bool again = !run.decode && run.sample && run.begin + run.count > sent->prompt;
          if (again && kept_[t].decoded.add(world_.now, 1) > 5 * std::uint64_t{q.decode_tokens_per_s})
            fail("a tenant goes on in a model beyond its rate");
        }
  }
  [[nodiscard]] const Sent* sent_of(std::size_t m, const serve::PlannedRun& run) const {
    for (const Sent& r : engines_[m]->sent())
      if (r.handle == run.request) return &r;
    return nullptr;
  }

  static constexpr std::uint32_t kMoves = 4;

  const ModelScript& script_;
  World& world_;
  Engines& engines_;
  std::vector<SetTenant>& tenants_;
  std::vector<Kept> kept_;
  std::vector<Model> models_;
  std::array<std::uint64_t, serve::kServiceClasses> time_{};  ///< virtual, by class
  std::uint64_t steps_ = 0;
  std::uint32_t moves_ = 0;  ///< models that did not come back
};

}  // namespace simulate
