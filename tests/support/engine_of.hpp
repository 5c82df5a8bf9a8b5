// SPDX-License-Identifier: Apache-2.0
// tests/support/engine_of.hpp: Engine<B> as a HostEngine, for the sources that instantiate one.
#pragma once

#include <zrt/engine/engine.hpp>
#include <zrt/engine/replay.hpp>
#include <zrt/models.hpp>
#include <zrt/trace/timeline.hpp>

#include <support/engines.hpp>

namespace zrt::test {

template <class B, class O = exec::NoObserver> class EngineOf final : public HostEngine {
 public:
  explicit EngineOf(Engine<B, AllFamilies, O> engine) : engine_(std::move(engine)) {}

  Result<Completion> generate(const Request& request, const OnToken& on_token, const Stop& stop) override {
    return engine_.generate(request, on_token, stop);
  }
  Result<RequestId> submit(const Request& request) override { return engine_.submit(request); }
  void cancel(RequestId id) override { engine_.cancel(id); }
  Result<void> pause(RequestId id, bool on) override { return engine_.pause(id, on); }
  Result<TenantId> create_tenant(const TenantQuota& quota) override { return engine_.create_tenant(quota); }
  Result<void> change_tenant(TenantId tenant, const TenantQuota& quota) override {
    return engine_.change_tenant(tenant, quota);
  }
  Result<void> remove_tenant(TenantId tenant) override { return engine_.remove_tenant(tenant); }
  Result<SessionId> open_session(TenantId tenant) override { return engine_.open_session(tenant); }
  Result<void> close_session(SessionId session) override { return engine_.close_session(session); }
  Result<TenantLedger> usage(TenantId tenant) const override { return engine_.usage(tenant); }
  std::uint32_t processed(RequestId id) override { return engine_.processed(id); }
  std::uint64_t idle_ns() override { return engine_.idle_ns(); }
  Result<std::size_t> step(const OnRequestToken& on_token) override { return engine_.step(on_token); }
  Result<std::size_t> hear(const OnRequestToken& on_token) override { return engine_.hear(on_token); }
  HeldMemory memory() override { return engine_.memory(); }
  Result<void> evict() override { return engine_.evict(); }
  Result<void> reopen() override { return engine_.reopen(); }
  bool is_resident() const override { return engine_.is_resident(); }
  Result<void> expect_tenants() override { return engine_.expect_tenants(); }
  Result<void> hold(bool on) override { return engine_.hold(on); }
  std::size_t running() override { return engine_.running(); }
  TenantUse use(TenantId tenant) override { return engine_.use(tenant); }
  std::uint64_t rate_wait_ns() override { return engine_.rate_wait_ns(); }
  void charge(TenantId tenant, const TenantUse& elsewhere) override { engine_.charge(tenant, elsewhere); }
  Result<AdapterId> load_adapter(std::span<const std::byte> file, float scale) override {
    return engine_.load_adapter(file, scale);
  }
  Result<void> unload_adapter(AdapterId adapter) override { return engine_.unload_adapter(adapter); }
  ThreadHook workers() const override { return engine_.workers(); }
  Result<void> draft_with(HostEngine& drafter) override {
    return engine_.draft_with(std::move(static_cast<EngineOf&>(drafter).engine_));
  }
  Result<void> evaluate(std::span<const std::int32_t> tokens, std::span<const std::int32_t> decode,
                        const OnLogits& on_logits, AdapterId adapter) override {
    return engine_.evaluate(tokens, decode, on_logits, adapter);
  }
  Result<double> perplexity(std::string_view text) override { return engine_.perplexity(text); }
  Result<Embeddings> embed(std::span<const EmbedInput> inputs, const EmbedOptions& options, const Stop& stop) override {
    return engine_.embed(inputs, options, stop);
  }
  Result<Vector<std::byte>> save(RequestId id) override { return engine_.save(id); }
  Result<RequestId> restore(std::span<const std::byte> snapshot, const Request& request) override {
    return engine_.restore(snapshot, request);
  }
  const text::Tokenizer* tokenizer() const override { return engine_.tokenizer(); }
  const plan::CompiledPlan& plan() const override { return engine_.plan(); }
  exec::DispatchCounters counters() const override { return engine_.executor().counters(); }
  std::uint32_t context() const override { return engine_.context(); }
  EngineBytes bytes() const override {
    const auto& executor = engine_.executor();
    return {executor.prefill_plan().mapping().arena_bytes, executor.decode_plan().mapping().arena_bytes,
            executor.states().bytes()};
  }
  Result<trace::RunHeader> run_header() const override { return zrt::run_header(engine_); }
  trace::ValidatedExecutor validated() override { return trace::ValidatedExecutor::of(engine_.executor()); }

 private:
  Engine<B, AllFamilies, O> engine_;
};

template <class B, class Source> AnyEngine open_on(const Source& source, const EngineOptions& options) {
  auto engine = Engine<B>::open(source, options);
  if (!engine) return pass(engine);
  return std::make_unique<EngineOf<B>>(std::move(*engine));
}

template <class B, class O, class Source>
AnyEngine open_with(const Source& source, const EngineOptions& options, const O& observer) {
  auto engine = Engine<B, AllFamilies, O>::open(source, options, {}, observer);
  if (!engine) return pass(engine);
  return std::make_unique<EngineOf<B, O>>(std::move(*engine));
}

template <class B, class Source>
AnyEngine open_watched(const Source& source, const EngineOptions& options, trace::Timeline& timeline) {
  return open_with<B>(source, options, trace::TimelineObserver{&timeline});
}

}  // namespace zrt::test
