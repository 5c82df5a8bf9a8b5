// SPDX-License-Identifier: Apache-2.0
// examples/zrt/model_of.hpp: Model over an engine on backend B; included by engine_<backend>.cpp alone.
#pragma once

#include "counting_allocator.hpp"
#include "model.hpp"
#include <zrt/engine/replay.hpp>

#include <engines.hpp>

namespace program {

template <class B, class O = zrt::exec::NoObserver> class ModelOf final : public Model {
 public:
  using Engine = zrt::Engine<B, zrt::AllFamilies, O>;

  /// `machine` is what the device stands on, if it is not the process's own; `observer` watches the engine.
  [[nodiscard]] static Opened open(const std::string& path, zrt::EngineOptions options,
                                   const zrt::DeviceOptionsOf<B>& device = {}, std::shared_ptr<void> machine = nullptr,
                                   O observer = {}) {
    auto counter = std::make_unique<CountingAllocator>();
    options.allocator = counter->hook();
    auto engine = Engine::open(path, options, device, observer);
    if (!engine) return zrt::pass(engine);
    return std::make_unique<ModelOf>(std::move(counter), std::move(machine), std::move(*engine));
  }

  ModelOf(std::unique_ptr<CountingAllocator> counter, std::shared_ptr<void> machine, Engine engine)
      : counter_(std::move(counter)), machine_(std::move(machine)), engine_(std::move(engine)) {}

  std::string_view backend() const override { return B::name; }
  std::string_view isa() override {
    if constexpr (requires(const typename B::Device& device) { device.isa(); })
      return name(engine_.device().isa());
    else if constexpr (requires(const typename B::Device& device) { device.target(); })
      return engine_.device().target().name;
    else if constexpr (requires(const typename B::Device& device) { device.facts(); })
      return engine_.device().facts().name.view();
    else if constexpr (requires(const typename B::Device& device) { device.last().facts(); })
      return engine_.device().last().facts().name.view();
    else
      return "plain loops";
  }
  const zrt::model::GgufFile& file() const override { return engine_.file(); }
  const zrt::model::Config& config() const override { return engine_.config(); }
  const zrt::plan::CompiledPlan& plan() const override { return engine_.plan(); }
  const zrt::plan::PlanSplit* split() override {
    if constexpr (requires(const typename B::Device& device) { device.split(); })
      return &engine_.device().split();
    else
      return nullptr;
  }
  const zrt::text::Tokenizer* tokenizer() const override { return engine_.tokenizer(); }
  std::uint32_t context() const override { return engine_.context(); }
  EngineMemory memory_parts() override {
    auto& executor = engine_.executor();
    std::vector<std::uint32_t> pages;
    for (const zrt::exec::CacheGroup& group : executor.cache_groups()) pages.push_back(group.pages);
    return {executor.states().bytes(),
            std::move(pages),
            executor.sizes().slots,
            zrt::TakesDeviceOptions<B>,  // of a card: the CPU's device takes none
            &executor.prefill_plan().mapping(),
            &executor.decode_plan().mapping(),
            counter_->bytes(),
            executor.sizes().prefill_tokens,
            parts()};
  }

  zrt::HeldMemory memory() override { return engine_.memory(); }
  zrt::Result<void> evict() override { return engine_.evict(); }
  zrt::Result<void> reopen() override { return engine_.reopen(); }
  bool is_resident() const override { return engine_.is_resident(); }
  zrt::Result<void> hold(bool on) override { return engine_.hold(on); }
  std::size_t running() override { return engine_.running(); }
  zrt::TenantUse use(zrt::TenantId tenant) override { return engine_.use(tenant); }
  std::uint64_t rate_wait_ns() override { return engine_.rate_wait_ns(); }
  void charge(zrt::TenantId tenant, const zrt::TenantUse& elsewhere) override { engine_.charge(tenant, elsewhere); }

  zrt::Result<zrt::RequestId> submit(const zrt::Request& request) override { return engine_.submit(request); }
  void cancel(zrt::RequestId id) override { engine_.cancel(id); }
  zrt::Result<void> pause(zrt::RequestId id, bool on) override { return engine_.pause(id, on); }
  zrt::Result<zrt::AdapterId> load_adapter(const std::string& path, float scale) override {
    return engine_.load_adapter(path, scale);
  }
  zrt::ThreadHook workers() const override { return engine_.workers(); }
  zrt::Result<void> draft_with(std::unique_ptr<Model> drafter) override {
    if (drafter->backend() != backend())
      return zrt::fail(zrt::Errc::invalid_argument, "the draft model is of backend ", drafter->backend(), ", expected ",
                       backend());
    if (auto r = engine_.draft_with(std::move(static_cast<ModelOf&>(*drafter).engine_)); !r) return r;
    drafter_ = std::move(drafter);
    return {};
  }
  std::uint32_t processed(zrt::RequestId id) override { return engine_.processed(id); }
  std::uint64_t idle_ns() override { return engine_.idle_ns(); }
  zrt::Result<void> expect_tenants() override { return engine_.expect_tenants(); }
  zrt::Result<zrt::TenantId> create_tenant(const zrt::TenantQuota& quota) override {
    return engine_.create_tenant(quota);
  }
  zrt::Result<void> change_tenant(zrt::TenantId tenant, const zrt::TenantQuota& quota) override {
    return engine_.change_tenant(tenant, quota);
  }
  zrt::Result<void> remove_tenant(zrt::TenantId tenant) override { return engine_.remove_tenant(tenant); }
  zrt::Result<zrt::TenantLedger> usage(zrt::TenantId tenant) const override { return engine_.usage(tenant); }
  const zrt::PageTimes& page_times() const override { return engine_.page_times(); }
  zrt::Result<std::size_t> step(const TokenCallback& on_token) override {
    return telling(on_token, [this](const auto& heard) { return engine_.step(heard); });
  }
  zrt::Result<std::size_t> hear(const TokenCallback& on_token) override {
    return telling(on_token, [this](const auto& heard) { return engine_.hear(heard); });
  }
  zrt::Result<void> evaluate_steps(std::span<const std::int32_t> tokens, std::size_t steps,
                                   const Choose& choose) override {
    bool out_of_memory = false;
    auto done = engine_.evaluate_steps(tokens, steps, [&](std::uint32_t position, std::span<const float> logits) {
      return without_throwing(out_of_memory, zrt::kNoToken, [&] { return choose(position, logits); });
    });
    if (out_of_memory) return no_memory();
    return done;
  }
  zrt::Result<double> perplexity(std::string_view text) override { return engine_.perplexity(text); }
  zrt::Result<zrt::Embeddings> embed(std::span<const zrt::EmbedInput> inputs,
                                     const zrt::EmbedOptions& options) override {
    return engine_.embed(inputs, options);
  }
  zrt::Result<zrt::trace::RunHeader> run_header() const override { return zrt::run_header(engine_); }
  zrt::trace::ValidatedExecutor validated() override { return zrt::trace::ValidatedExecutor::of(engine_.executor()); }

 private:
  /// Each piece of memory that the engine asked its device for, with the heap that it comes from.
  [[nodiscard]] std::vector<MemoryPart> parts() {
    std::vector<MemoryPart> out;
    const auto add = [&out](std::string_view what, const auto& memory) {
      if constexpr (requires { memory.heap(); })
        out.push_back({name(memory.heap()), what, memory.bytes()});
      else
        out.push_back({kHostHeap, what, memory.size()});
    };
    engine_.executor().for_each_memory(add);
    return out;
  }

  /// Calls a callable of the program's from within the library, which nothing may leave by throwing.
  template <class T, class F> static T without_throwing(bool& out_of_memory, T otherwise, const F& call) noexcept {
    try {
      return call();
    } catch (...) {
      out_of_memory = true;
      return otherwise;
    }
  }
  /// What `run(heard)` gives, where `heard` tells `on_token`, which may throw.
  template <class Run>
  [[nodiscard]] static zrt::Result<std::size_t> telling(const TokenCallback& on_token, const Run& run) {
    bool out_of_memory = false;
    auto left = run([&](zrt::RequestId id, const zrt::Token& token) {
      return without_throwing(out_of_memory, false, [&] { return on_token(id, token); });
    });
    if (out_of_memory) return no_memory();
    return left;
  }
  static std::unexpected<zrt::Error> no_memory() {
    return zrt::fail(zrt::Errc::out_of_memory, "no memory for what the engine tells");
  }

  std::unique_ptr<CountingAllocator> counter_;  // outlives the engine, as does the machine
  std::shared_ptr<void> machine_;
  std::unique_ptr<Model> drafter_;  // whose allocator the engine uses
  Engine engine_;
};

/// A model, watched by whom `watchers` names.
template <class B>
[[nodiscard]] Opened open_watched(const std::string& path, const zrt::EngineOptions& options, const Watchers& watchers,
                                  const zrt::DeviceOptionsOf<B>& device = {},
                                  const std::shared_ptr<void>& machine = nullptr) {
  if (watchers.timeline != nullptr)
    return ModelOf<B, zrt::trace::TimelineObserver>::open(path, options, device, machine, {watchers.timeline});
  if (watchers.run.recorder != nullptr || watchers.run.replay != nullptr)
    return ModelOf<B, zrt::trace::RunObserver>::open(path, options, device, machine, watchers.run);
  return ModelOf<B>::open(path, options, device, machine);
}

}  // namespace program
