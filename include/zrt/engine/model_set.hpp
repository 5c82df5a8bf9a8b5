// SPDX-License-Identifier: Apache-2.0
// zrt/engine/model_set.hpp: several models in one box: they take turns, share memory, and serve the same tenants.
#pragma once

#include <zrt/core/mutex.hpp>
#include <zrt/core/owned.hpp>
#include <zrt/engine/callables.hpp>
#include <zrt/engine/held_memory.hpp>
#include <zrt/engine/one_call.hpp>
#include <zrt/engine/tenant.hpp>
#include <zrt/serve/model_turns.hpp>
#include <zrt/serve/tenant_service.hpp>

#include <array>

namespace zrt::inline ZRT_ABI {

/// Names a model of a set: the first that was added is ModelId{0}.
enum class ModelId : std::uint32_t {};

/// Choices for a set of models.
struct ModelSetOptions {
  std::uint64_t memory = 0;            ///< bytes of all models together, as Engine::memory counts them; 0: no bound
  std::uint32_t turn_patience = 8;     ///< see serve::ModelTurns
  std::uint32_t memory_patience = 64;  ///< see serve::ModelTurns
  Allocator allocator = system_allocator();
};

/// A model of a set, as a host watches it.
struct ModelReport {
  HeldMemory memory{};      ///< now; of an evicted model what is left
  std::uint64_t needs = 0;  ///< bytes in memory
  bool resident = false;    ///< it is in memory
  bool drains = false;      ///< it begins no request, to make room
  std::size_t left = 0;     ///< requests that run or wait, as of its last step
  std::uint64_t steps = 0;
  std::uint64_t evictions = 0;
  std::uint64_t reopenings = 0;
};

/// What `step` of a set calls for each token: `bool(ModelId, RequestId, const Token&)`, false ends the request.
template <class F>
concept HearsTokensOfModels = requires(F& on_token, ModelId model, RequestId id, const Token& token) {
  { on_token(model, id, token) } -> std::convertible_to<bool>;
};

/// Several engines on one machine, each with weights, plan and pools of its own. A step belongs to one of them.
///
/// The host opens the engines and adds them; they outlive the set, and nobody else steps them or creates tenants of
/// theirs. `E` is an Engine, or a host's type with the same calls, so that the models of a set may have several backends.
/// Requests go to a model by `submit`; their ids are the model's own. docs/several-models.md says whose turn is next.
///
/// Tenants are of the set: each is created in every model, with the same quota. Slots, pages and queues count by model,
/// since each has its own; rates and service count over all.
///
/// `Rules` are those of hosts; a simulation breaks one of them.
///
/// Threads: as for an engine, `submit`, `cancel` and `pause` from any thread at any time and from the callable of `step`; all else
/// from one thread at a time.
template <class E, class Rules = serve::AllModelRules> class ModelSet {
 public:
  static constexpr std::size_t kMostModels = 16;
  static constexpr std::uint32_t kMostTenants = 64;  ///< the host is one

  [[nodiscard]] static Result<ModelSet> make(const ModelSetOptions& options = {}, Rules rules = {}) noexcept {
    auto core = Owned<Core>::make(options.allocator, options, rules);
    if (!core) return pass(core);
    if (auto r = (*core)->reserve(); !r) return pass(r);
    return ModelSet(std::move(*core));
  }

  /// Adds an open engine without requests, whose draft model came before. Where the bound on memory leaves it no room,
  /// others that have nothing to do are evicted, else it is itself.
  ///
  /// Errors: Errc::capacity_exceeded for more models than kMostModels, for one that the bound never holds, and where a
  /// tenant's reserved pages do not fit in it; Errc::invalid_state for an engine with requests; those of Engine::evict.
  [[nodiscard]] Result<ModelId> add(E& engine) noexcept {
    const detail::OneCall call(core_->in_call);
    if (!call) return call.refusal();
    return core_->add(engine);
  }
  [[nodiscard]] std::size_t size() const noexcept { return core_->models.size(); }
  /// The engine of a model, for all that is about it alone: tokenizer, adapters, what is known of the file.
  [[nodiscard]] E& engine(ModelId model) noexcept { return *core_->models[index(model)].engine; }

  /// Queues a request of a model; its tenant is the set's, its session the model's. Any thread. A model that is not in
  /// memory comes back for it.
  ///
  /// Errors: those of Engine::submit; Errc::not_found for another model or tenant.
  [[nodiscard]] Result<RequestId> submit(ModelId model, const Request& request) noexcept {
    auto found = core_->tenant_in(index(model), request.tenant);
    if (!found) return pass(found);
    Request of_model = request;
    of_model.tenant = found->tenant;
    return found->engine->submit(of_model);
  }
  /// Asks for the end of a request. Any thread.
  void cancel(ModelId model, RequestId id) noexcept {
    if (E* const engine = core_->engine_of(index(model)); engine != nullptr) engine->cancel(id);
  }
  /// Says whether the client of a request reads, see Engine::pause. Any thread. Errors: those of Engine::pause;
  /// Errc::not_found for another model.
  [[nodiscard]] Result<void> pause(ModelId model, RequestId id, bool on = true) noexcept {
    E* const engine = core_->engine_of(index(model));
    if (engine == nullptr) return fail(Errc::not_found, "no model of the set has id ", index(model));
    return engine->pause(id, on);
  }
  /// How often a model has read what was submitted to it: each of its steps that did not fail.
  [[nodiscard]] std::uint64_t reads(ModelId model) const noexcept {
    return index(model) < size() ? core_->models[index(model)].reads : 0;
  }

  /// Runs one step of the model whose turn it is, and calls `on_token(ModelId, RequestId, const Token&) -> bool` for what
  /// it generated. Models change their places in memory in it. Returns how many requests are left in all models.
  ///
  /// Errors: those of Engine::step and Engine::reopen, naming the model; the requests of that step have ended as
  /// `failed`, and the next step goes on with the others.
  template <class F>
  [[nodiscard]] Result<std::size_t> step(F&& on_token) noexcept
    requires HearsTokensOfModels<F>
  {
    const detail::OneCall call(core_->in_call);
    if (!call) return call.refusal();
    return core_->step(on_token);
  }
  /// What a step begins with, alone: ends what was cancelled in any model, and notes which clients read. Errors: those of
  /// `step`.
  template <class F>
  [[nodiscard]] Result<void> hear(F&& on_token) noexcept
    requires HearsTokensOfModels<F>
  {
    const detail::OneCall call(core_->in_call);
    if (!call) return call.refusal();
    return core_->hear(on_token);
  }
  /// As Engine::idle_ns, for all models.
  [[nodiscard]] std::uint64_t idle_ns() noexcept { return core_->idle_ns(); }

  /// Brings a model to memory at once, for calls of the engine's own such as `embed`, which need no step.
  ///
  /// Errors: Errc::capacity_exceeded where models with requests hold the memory: from now on the model waits for its place
  /// as if it had a request, so call again after a step. Those of Engine::reopen.
  [[nodiscard]] Result<void> bring(ModelId model) noexcept {
    if (auto r = expect(model); !r) return r;
    const detail::OneCall call(core_->in_call);
    if (!call) return call.refusal();
    return core_->bring(index(model));
  }
  /// What a model holds and how it is. Errors: Errc::not_found.
  [[nodiscard]] Result<ModelReport> report(ModelId model) noexcept {
    if (auto r = expect(model); !r) return pass(r);
    return core_->report(index(model));
  }

  /// Creates a tenant in every model. Errors: those of Engine::create_tenant; nothing is created then.
  [[nodiscard]] Result<TenantId> create_tenant(const TenantQuota& quota) noexcept {
    const detail::OneCall call(core_->in_call);
    if (!call) return call.refusal();
    return core_->create(quota);
  }
  /// Changes a tenant's quota in every model. Errors: those of Engine::change_tenant; the quota is then what it was, but a
  /// request that a lowered quota ended stays ended.
  [[nodiscard]] Result<void> change_tenant(TenantId tenant, const TenantQuota& quota) noexcept {
    const detail::OneCall call(core_->in_call);
    if (!call) return call.refusal();
    return core_->change(tenant, quota);
  }
  [[nodiscard]] Result<void> remove_tenant(TenantId tenant) noexcept {
    const detail::OneCall call(core_->in_call);
    if (!call) return call.refusal();
    return core_->remove(tenant);
  }
  /// As Engine::open_session, for requests of one model. Errors: those; Errc::not_found for another model.
  [[nodiscard]] Result<SessionId> open_session(ModelId model, TenantId tenant = {}) noexcept {
    const detail::OneCall call(core_->in_call);
    if (!call) return call.refusal();
    auto found = core_->tenant_in(index(model), tenant);
    if (!found) return pass(found);
    return found->engine->open_session(found->tenant);
  }
  /// As Engine::close_session. Errors: Errc::not_found.
  [[nodiscard]] Result<void> close_session(ModelId model, SessionId session) noexcept {
    if (auto r = expect(model); !r) return r;
    const detail::OneCall call(core_->in_call);
    if (!call) return call.refusal();
    return engine(model).close_session(session);
  }
  /// Counts `tokens` of prompts that a tenant had of a model outside of steps, as texts that were embedded: as service, and
  /// against its rate of prompts in every model. Errors: Errc::not_found.
  [[nodiscard]] Result<void> charge(TenantId tenant, std::uint64_t tokens) noexcept {
    const detail::OneCall call(core_->in_call);
    if (!call) return call.refusal();
    return core_->charge(tenant, tokens);
  }
  /// What a tenant has asked for and got of all models. Errors: Errc::not_found.
  [[nodiscard]] Result<TenantLedger> usage(TenantId tenant) noexcept {
    TenantLedger sum;
    for (std::size_t m = 0; m < size(); ++m) {
      const auto part = usage(tenant, ModelId{static_cast<std::uint32_t>(m)});
      if (!part) return pass(part);
      sum += *part;
    }
    return sum;
  }
  /// The same of one model.
  [[nodiscard]] Result<TenantLedger> usage(TenantId tenant, ModelId model) noexcept {
    if (auto r = expect(model); !r) return pass(r);
    auto of_model = core_->tenant_in(index(model), tenant);
    if (!of_model) return pass(of_model);
    return engine(model).usage(of_model->tenant);
  }

 private:
  [[nodiscard]] static std::size_t index(ModelId model) noexcept { return static_cast<std::size_t>(model); }
  [[nodiscard]] Result<void> expect(ModelId model) const noexcept {
    if (index(model) < size()) return {};
    return fail(Errc::not_found, "no model of the set has id ", index(model), ", there are ", size());
  }

  using ModelRule = serve::ModelRule;

  struct Tenant {
    std::uint32_t generation = 0;
    bool live = false;
    TenantQuota quota{};
    std::array<TenantId, kMostModels> ids{};    ///< by model
    std::array<TenantUse, kMostModels> seen{};  ///< that others were told of
  };
  struct Model {
    E* engine = nullptr;
    std::uint64_t needs = 0;
    std::size_t left = 0;
    bool drains = false;
    bool wanted = false;  ///< a call of the host's waits for it
    std::uint64_t steps = 0;
    std::uint64_t reads = 0;
    std::uint64_t evictions = 0;
    std::uint64_t reopenings = 0;
  };
  /// A tenant as a model knows it.
  struct TenantOfModel {
    E* engine;
    TenantId tenant;
  };

  /// At one address, because requests of any thread look for their tenants.
  struct Core {
    Core(const ModelSetOptions& o, Rules r) noexcept
        : rules(r),
          turns({o.memory, o.turn_patience, o.memory_patience}, o.allocator, r),
          service(o.allocator),
          models(o.allocator),
          states(o.allocator),
          tenants(o.allocator) {}

    [[nodiscard]] Result<void> reserve() noexcept {
      if (auto r = models.reserve(kMostModels); !r) return r;
      if (auto r = states.reserve(kMostModels); !r) return r;
      if (auto r = service.resize(kMostTenants); !r) return r;
      if (auto r = tenants.resize(kMostTenants); !r) return r;
      tenants[0].live = true;  // the host, who has the id 0 in every model
      tenants[0].quota.service = ServiceClass::interactive;
      return {};
    }

    [[nodiscard]] bool keeps(ModelRule rule) const noexcept { return rules.keeps(rule); }

    // --- models ---

    [[nodiscard]] Result<ModelId> add(E& engine) noexcept {
      const std::size_t m = models.size();
      if (m == kMostModels) return fail(Errc::capacity_exceeded, "a set holds at most ", kMostModels, " models");
      if (engine.idle_ns() != kUntilSubmit) return fail(Errc::invalid_state, "the engine has requests, expected none");
      if (auto r = engine.reopen(); !r) return pass(r);
      if (auto r = engine.expect_tenants(); !r) return pass(r);
      // Where memory is bounded the engine must be one that can leave it.
      if (auto r = engine.hold(false); !r && turns.limits().memory != 0) return pass(r);
      Model added;
      added.engine = &engine;
      added.needs = engine.memory().total();
      const std::uint64_t bound = turns.limits().memory;
      if (bound != 0 && added.needs > bound)
        return fail(Errc::capacity_exceeded, "the model needs ", added.needs, " bytes, the set may have ", bound);
      std::array<TenantId, kMostTenants> created{};
      for (std::uint32_t t = 1; t < kMostTenants; ++t) {
        if (!tenants[t].live) continue;
        auto made = engine.create_tenant(tenants[t].quota);
        if (!made) {
          while (t-- > 1)
            if (tenants[t].live) (void)engine.remove_tenant(created[t]);
          return pass(made);
        }
        created[t] = *made;
      }
      if (auto r = turns.add(); !r) return pass(r);
      {
        const MutexLock lock(mutex);
        for (std::uint32_t t = 0; t < kMostTenants; ++t) {
          tenants[t].ids[m] = created[t];
          tenants[t].seen[m] = tenants[t].live ? engine.use(created[t]) : TenantUse{};
        }
        (void)models.push_back(added);
        (void)states.push_back({});
      }
      if (auto r = fit(m); !r) return pass(r);
      return ModelId{static_cast<std::uint32_t>(m)};
    }

    [[nodiscard]] std::uint64_t resident_bytes() const noexcept {
      std::uint64_t sum = 0;
      for (const Model& model : models) sum += model.engine->is_resident() ? model.needs : 0;
      return sum;
    }
    /// Evicts models that have nothing to do until the bound is held; the one that came last goes where that is not enough.
    [[nodiscard]] Result<void> fit(std::size_t newest) noexcept {
      while (turns.limits().memory != 0 && resident_bytes() > turns.limits().memory) {
        look();
        const std::uint32_t found = turns.first_to_go(states.span(), static_cast<std::uint32_t>(newest));
        if (auto r = evict(found == serve::kNone ? newest : found); !r) return r;
      }
      return {};
    }
    [[nodiscard]] Result<void> evict(std::size_t m) noexcept {
      if (auto r = models[m].engine->evict(); !r) return r;
      models[m].drains = false;
      ++models[m].evictions;
      return {};
    }
    [[nodiscard]] Result<void> reopen(std::size_t m) noexcept {
      if (auto r = models[m].engine->reopen(); !r) return r;
      ++models[m].reopenings;
      return {};
    }
    [[nodiscard]] Result<void> bring(std::size_t m) noexcept {
      const std::uint64_t bound = turns.limits().memory;
      while (!models[m].engine->is_resident() && bound != 0 && resident_bytes() > bound - models[m].needs) {
        look();
        turns.begin(states.span());
        const std::uint32_t found = turns.first_to_go(states.span(), static_cast<std::uint32_t>(m));
        models[m].wanted = found == serve::kNone;
        if (models[m].wanted)
          return fail(Errc::capacity_exceeded, "models with requests hold ", resident_bytes(), " of ", bound,
                      " bytes, the model needs ", models[m].needs);
        if (auto r = evict(found); !r) return r;
      }
      models[m].wanted = false;
      return models[m].engine->is_resident() ? Result<void>{} : reopen(m);
    }
    [[nodiscard]] ModelReport report(std::size_t m) noexcept {
      const Model& model = models[m];
      return {model.engine->memory(), model.needs,     model.engine->is_resident(),
              model.drains,           model.left,      model.steps,
              model.evictions,        model.reopenings};
    }

    // --- steps ---

    template <class F> [[nodiscard]] Result<std::size_t> step(F& on_token) noexcept {
      if (auto r = hear(on_token); !r) return pass(r);
      look();
      rests = false;
      turns.begin(states.span());
      while (true) {
        const serve::ModelAction action = turns.next(states.span());
        using Kind = serve::ModelAction::Kind;
        Result<void> done{};
        switch (action.kind) {
          case Kind::rest:
            rests = true;
            return left();
          case Kind::step:
            if (auto r = step_model(action.model, on_token); !r) return pass(r);
            ++models[action.model].steps;
            share(action.model);
            return left();
          case Kind::evict:
            done = evict(action.model);
            break;
          case Kind::reopen:
            done = reopen(action.model);
            // What waited for it ends now.
            models[action.model].wanted = false;
            if (!done) {
              (void)step_model(action.model, on_token);
              turns.put_last(action.model);
            }
            break;
          case Kind::drain:
          case Kind::release:
            models[action.model].drains = action.kind == Kind::drain;
            if (keeps(ModelRule::hold_drained)) done = models[action.model].engine->hold(models[action.model].drains);
            break;
        }
        if (!done) return named(action.model, done.error());
        look(action.model);
      }
    }
    /// Ends what was cancelled, whosever turn it is. A model that is not in memory reads what came, so that refusals wait
    /// for nobody either.
    template <class F> [[nodiscard]] Result<void> hear(F& on_token) noexcept {
      for (std::size_t m = 0; m < models.size(); ++m)
        if (auto r = hear(m, on_token); !r) return r;
      return {};
    }
    template <class F> [[nodiscard]] Result<void> hear(std::size_t m, F& on_token) noexcept {
      E& engine = *models[m].engine;
      if (!engine.is_resident())
        return engine.idle_ns() == 0 && keeps(ModelRule::read_evicted) ? step_model(m, on_token) : Result<void>{};
      if (!keeps(ModelRule::hear_resident)) return {};
      return left_of(m, engine.hear(heard_of(m, on_token)));
    }
    template <class F> [[nodiscard]] Result<void> step_model(std::size_t m, F& on_token) noexcept {
      if (auto r = left_of(m, models[m].engine->step(heard_of(m, on_token))); !r) return r;
      ++models[m].reads;
      return {};
    }
    /// `on_token` for a model's requests.
    template <class F> [[nodiscard]] static auto heard_of(std::size_t m, F& on_token) noexcept {
      return [&on_token, id = ModelId{static_cast<std::uint32_t>(m)}](RequestId request, const Token& token) -> bool {
        return on_token(id, request, token);
      };
    }
    [[nodiscard]] Result<void> left_of(std::size_t m, const Result<std::size_t>& left) noexcept {
      models[m].left = left ? *left : 0;
      if (!left) return named(m, left.error());
      return {};
    }
    [[nodiscard]] static std::unexpected<Error> named(std::size_t m, const Error& error) noexcept {
      return fail(error.code(), "model ", m, ": ", error.text());
    }
    [[nodiscard]] std::size_t left() const noexcept {
      std::size_t sum = 0;
      for (const Model& model : models)
        sum += model.left != 0 ? model.left : model.engine->idle_ns() != kUntilSubmit ? 1 : 0;
      return sum;
    }
    [[nodiscard]] std::uint64_t idle_ns() noexcept {
      constexpr std::uint64_t kWait = 1'000'000;
      std::uint64_t least = kUntilSubmit;
      for (const Model& model : models) {
        std::uint64_t idle = model.engine->idle_ns();
        if (!model.engine->is_resident() && (model.left != 0 || model.wanted)) {
          const std::uint64_t rate = model.wanted ? 0 : model.engine->rate_wait_ns();
          // Whoever lacks memory is asked again soon, and at once where the last step did something.
          const std::uint64_t wait = rate != 0 ? rate : rests ? kWait : 0;
          idle = wait < idle ? wait : idle;
        }
        least = idle < least ? idle : least;
      }
      return least;
    }

    /// Notes how the models are; with one model there is nothing to compare.
    void look() noexcept {
      for (std::size_t m = 0; m < models.size(); ++m) look(m);
      if (models.size() > 1) note_tenants();
    }
    void look(std::size_t m) noexcept {
      E& engine = *models[m].engine;
      serve::ModelState& state = states[m];
      state.resident = engine.is_resident();
      const std::uint64_t idle = engine.idle_ns();
      state.ready = state.resident ? idle == 0 : models[m].wanted || (models[m].left != 0 && rate_wait(m) == 0);
      state.busy = models[m].left != 0 || models[m].wanted || idle != kUntilSubmit;
      state.running = engine.running() != 0;
      state.drains = models[m].drains;
      state.bytes = models[m].needs;
    }
    /// How long requests of a model that is not in memory wait for their rates before any may begin.
    [[nodiscard]] std::uint64_t rate_wait(std::size_t m) noexcept {
      return keeps(ModelRule::wait_for_rates) ? models[m].engine->rate_wait_ns() : 0;
    }
    /// Finds the tenant in front of each model.
    void note_tenants() noexcept {
      for (serve::ModelState& state : states) {
        state.service = serve::kServiceClasses;
        state.had = 0;
      }
      std::array<std::uint32_t, kMostTenants> asks{};  // models, a bit each
      for (std::uint32_t t = 0; t < kMostTenants; ++t) {
        if (!tenants[t].live) continue;
        for (std::size_t m = 0; m < models.size(); ++m)
          asks[t] |= models[m].engine->use(tenants[t].ids[m]).ready ? 1u << m : 0u;
        service.note(t, tenants[t].quota.service, asks[t] != 0 || !keeps(ModelRule::lift_service));
      }
      for (std::uint32_t t = 0; t < kMostTenants; ++t) {
        if (!tenants[t].live) continue;
        const auto rank = static_cast<std::uint32_t>(tenants[t].quota.service);
        for (std::size_t m = 0; m < models.size(); ++m) {
          serve::ModelState& state = states[m];
          const bool first = rank < state.service || (rank == state.service && service.had(t) < state.had);
          if ((asks[t] >> m & 1u) == 0 || !first) continue;
          state.service = rank;
          state.had = service.had(t);
        }
      }
    }
    /// Tells the others what each tenant had of a model's step.
    void share(std::size_t stepped) noexcept {
      if (models.size() < 2) return;
      service.pass(states[stepped].service, states[stepped].had);
      for (std::uint32_t t = 0; t < kMostTenants; ++t) {
        Tenant& tenant = tenants[t];
        if (!tenant.live) continue;
        const TenantUse now = models[stepped].engine->use(tenant.ids[stepped]);
        const TenantUse had = now.since(tenant.seen[stepped]);
        tenant.seen[stepped] = now;
        if (had.nothing()) continue;
        if (keeps(ModelRule::count_service)) service.charge(t, had.service, tenant.quota.weight);
        for (std::size_t m = 0; m < models.size() && keeps(ModelRule::charge_others); ++m)
          if (m != stepped) models[m].engine->charge(tenant.ids[m], had);
      }
    }

    // --- tenants ---

    [[nodiscard]] std::uint32_t row_of(TenantId tenant) const noexcept {
      const auto handle = static_cast<serve::Handle>(tenant);
      const std::uint32_t row = serve::row_of(handle);
      const bool found =
          row < kMostTenants && tenants[row].live && tenants[row].generation == serve::generation_of(handle);
      return found ? row : serve::kNone;
    }
    /// Any thread. Errors: Errc::not_found.
    [[nodiscard]] Result<TenantOfModel> tenant_in(std::size_t m, TenantId tenant) noexcept {
      const MutexLock lock(mutex);
      if (m >= models.size())
        return fail(Errc::not_found, "no model of the set has id ", m, ", there are ", models.size());
      const std::uint32_t row = row_of(tenant);
      if (row == serve::kNone) return fail(Errc::not_found, "no tenant has id ", static_cast<std::uint64_t>(tenant));
      return TenantOfModel{models[m].engine, tenants[row].ids[m]};
    }
    /// Null for no model. Any thread.
    [[nodiscard]] E* engine_of(std::size_t m) noexcept {
      const MutexLock lock(mutex);
      return m < models.size() ? models[m].engine : nullptr;
    }

    [[nodiscard]] Result<TenantId> create(const TenantQuota& quota) noexcept {
      std::uint32_t row = 1;
      while (row < kMostTenants && tenants[row].live) ++row;
      if (row == kMostTenants) return fail(Errc::capacity_exceeded, "a set has at most ", kMostTenants - 1, " tenants");
      std::array<TenantId, kMostModels> ids{};
      for (std::size_t m = 0; m < models.size(); ++m) {
        auto made = models[m].engine->create_tenant(quota);
        if (!made) {
          const Error why = made.error();
          while (m-- > 0) (void)models[m].engine->remove_tenant(ids[m]);
          return std::unexpected<Error>(why);
        }
        ids[m] = *made;
      }
      const MutexLock lock(mutex);
      Tenant& tenant = tenants[row];
      tenant = {tenant.generation + 1, true, quota, ids, {}};
      service.begin(row);
      return TenantId{serve::handle_of(row, tenant.generation)};
    }
    [[nodiscard]] Result<void> change(TenantId tenant, const TenantQuota& quota) noexcept {
      auto row = created(tenant);
      if (!row) return pass(row);
      for (std::size_t m = 0; m < models.size(); ++m)
        if (auto r = models[m].engine->change_tenant((*row)->ids[m], quota); !r) {
          while (m-- > 0) (void)models[m].engine->change_tenant((*row)->ids[m], (*row)->quota);
          return r;
        }
      const TenantQuota before = (*row)->quota;
      (*row)->quota = quota;
      (*row)->quota.service = before.service;
      (*row)->quota.group = before.group;
      return {};
    }
    [[nodiscard]] Result<void> remove(TenantId tenant) noexcept {
      auto row = created(tenant);
      if (!row) return pass(row);
      Result<void> done{};
      for (std::size_t m = 0; m < models.size(); ++m)
        if (auto r = models[m].engine->remove_tenant((*row)->ids[m]); !r) done = r;
      const MutexLock lock(mutex);
      service.begin(static_cast<std::uint32_t>(*row - tenants.data()));
      (*row)->live = false;
      return done;
    }
    [[nodiscard]] Result<void> charge(TenantId tenant, std::uint64_t tokens) noexcept {
      const std::uint32_t row = row_of(tenant);
      if (row == serve::kNone) return fail(Errc::not_found, "no tenant has id ", static_cast<std::uint64_t>(tenant));
      service.charge(row, tokens, tenants[row].quota.weight);
      for (std::size_t m = 0; m < models.size(); ++m)
        models[m].engine->charge(tenants[row].ids[m], {false, tokens, 0, tokens});
      return {};
    }
    [[nodiscard]] Result<Tenant*> created(TenantId tenant) noexcept {
      const std::uint32_t row = row_of(tenant);
      if (row == 0)
        return fail(Errc::invalid_argument, "the host is a tenant that stays as it is; expected one that was created");
      if (row == serve::kNone) return fail(Errc::not_found, "no tenant has id ", static_cast<std::uint64_t>(tenant));
      return &tenants[row];
    }

    [[no_unique_address]] Rules rules;
    serve::ModelTurns<Rules> turns;
    serve::TenantService service;
    Vector<Model> models;
    Vector<serve::ModelState> states;
    Mutex mutex;
    Vector<Tenant> tenants;
    bool rests = false;  ///< the last step had nothing to do
    bool in_call = false;
  };

  explicit ModelSet(Owned<Core> core) noexcept : core_(std::move(core)) {}

  Owned<Core> core_;
};

}  // namespace zrt::inline ZRT_ABI
