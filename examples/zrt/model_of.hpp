// SPDX-License-Identifier: Apache-2.0
// examples/zrt/model_of.hpp: Model over an engine on backend B; included by engine_<backend>.cpp alone.
#pragma once

#include "counting_allocator.hpp"
#include "model.hpp"

#include <engines.hpp>

namespace program {

template <class B> class ModelOf final : public Model {
 public:
  using Engine = zrt::Engine<B>;

  /// `machine` is what the device stands on, if it is not the process's own.
  [[nodiscard]] static Opened open(const std::string& path, zrt::EngineOptions options,
                                   const zrt::DeviceOptionsOf<B>& device = {},
                                   std::shared_ptr<void> machine = nullptr) {
    auto counter = std::make_unique<CountingAllocator>();
    options.allocator = counter->hook();
    auto engine = Engine::open(path, options, device);
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
    else
      return "plain loops";
  }
  const zrt::model::GgufFile& file() const override { return engine_.file(); }
  const zrt::model::Config& config() const override { return engine_.config(); }
  const zrt::plan::CompiledPlan& plan() const override { return engine_.plan(); }
  const zrt::text::Tokenizer* tokenizer() const override { return engine_.tokenizer(); }
  std::uint32_t context() const override { return engine_.context(); }
  EngineMemory memory() override {
    auto& executor = engine_.executor();
    return {executor.states().bytes(),
            executor.sizes().pages,
            executor.sizes().slots,
            zrt::TakesDeviceOptions<B>,  // of a card: the CPU's device takes none
            &executor.prefill_plan().mapping(),
            &executor.decode_plan().mapping(),
            counter_->bytes()};
  }

  zrt::Result<zrt::RequestId> submit(const zrt::Request& request) override { return engine_.submit(request); }
  void cancel(zrt::RequestId id) override { engine_.cancel(id); }
  std::uint32_t processed(zrt::RequestId id) override { return engine_.processed(id); }
  zrt::Result<std::size_t> step(const OnToken& on_token) override { return engine_.step(on_token); }
  zrt::Result<void> evaluate_steps(std::span<const std::int32_t> tokens, std::size_t steps,
                                   const Choose& choose) override {
    return engine_.evaluate_steps(tokens, steps, choose);
  }
  zrt::Result<double> perplexity(std::string_view text) override { return engine_.perplexity(text); }

 private:
  std::unique_ptr<CountingAllocator> counter_;  // outlives the engine, as does the machine
  std::shared_ptr<void> machine_;
  Engine engine_;
};

}  // namespace program
