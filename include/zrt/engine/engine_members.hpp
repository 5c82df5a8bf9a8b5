// SPDX-License-Identifier: Apache-2.0
// zrt/engine/engine_members.hpp: the code of an engine, which a source that calls one compiled elsewhere does without.
#pragma once

#include <zrt/engine/engine.hpp>
#include <zrt/engine/engine_core.hpp>

#include <utility>

namespace zrt::inline ZRT_ABI {

template <class B, class Families, class O>
Engine<B, Families, O>::Engine(Owned<Core> core) noexcept : core_(std::move(core)) {}
template <class B, class Families, class O> Engine<B, Families, O>::Engine(Engine&& other) noexcept = default;
template <class B, class Families, class O>
Engine<B, Families, O>& Engine<B, Families, O>::operator=(Engine&& other) noexcept = default;
template <class B, class Families, class O> Engine<B, Families, O>::~Engine() = default;

template <class B, class Families, class O>
Result<Engine<B, Families, O>> Engine<B, Families, O>::open(std::string_view path, const EngineOptions& options,
                                                            const DeviceOptionsOf<B>& device, O observer) noexcept {
  return open_file(ModelLoader<B, Families>::open(path, options.allocator), options, device, observer);
}
template <class B, class Families, class O>
Result<Engine<B, Families, O>> Engine<B, Families, O>::open(Span<const std::byte> memory, const EngineOptions& options,
                                                            const DeviceOptionsOf<B>& device, O observer) noexcept {
  if (const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(memory.data()) % kMemoryAlignment; past != 0)
    return fail(Errc::invalid_argument, "the model's memory begins ", past, " bytes past a multiple of ",
                kMemoryAlignment, ", expected a multiple: weights are used where they lie");
  return open_file(ModelLoader<B, Families>::open(memory, options.allocator), options, device, observer);
}
template <class B, class Families, class O>
Result<Engine<B, Families, O>> Engine<B, Families, O>::open(const model::GgufReader& reader,
                                                            const EngineOptions& options,
                                                            const DeviceOptionsOf<B>& device, O observer) noexcept {
  return open_file(ModelLoader<B, Families>::open(reader, options.allocator), options, device, observer);
}

template <class B, class Families, class O>
Result<Engine<B, Families, O>> Engine<B, Families, O>::open_file(Result<model::GgufFile> file,
                                                                 const EngineOptions& options,
                                                                 const DeviceOptionsOf<B>& device,
                                                                 O observer) noexcept {
  if (!file) return pass(file);
  auto core = Owned<Core>::make(options.allocator, std::move(*file), options, device, observer);
  if (!core) return pass(core);
  if (auto r = (*core)->load(); !r) return pass(r);
  return Engine(std::move(*core));
}

// --- requests ---

template <class B, class Families, class O>
Result<Completion> Engine<B, Families, O>::generate_by(const Request& request, const detail::OnToken& on_token,
                                                       const StopPoll& stop) noexcept {
  if (core_->has_requests())
    return fail(Errc::invalid_argument, "generate runs alone; use submit and step for several requests");
  return core_->generate(request, on_token, stop);
}
template <class B, class Families, class O>
Result<std::size_t> Engine<B, Families, O>::step_by(const detail::OnToken& on_token) noexcept {
  return core_->step(on_token);
}
template <class B, class Families, class O>
Result<std::size_t> Engine<B, Families, O>::hear_by(const detail::OnToken& on_token) noexcept {
  return core_->hear(on_token);
}
template <class B, class Families, class O>
Result<void> Engine<B, Families, O>::evaluate_by(Span<const std::int32_t> tokens, std::size_t steps,
                                                 const detail::ChooseToken& choose, AdapterId adapter) noexcept {
  return core_->evaluate(tokens, steps, choose, adapter);
}
template <class B, class Families, class O>
Result<RequestId> Engine<B, Families, O>::submit(const Request& request) noexcept {
  return core_->submit(request);
}
template <class B, class Families, class O> void Engine<B, Families, O>::cancel(RequestId id) noexcept {
  core_->cancel(id);
}
template <class B, class Families, class O> Result<void> Engine<B, Families, O>::pause(RequestId id, bool on) noexcept {
  return core_->pause(id, on);
}
template <class B, class Families, class O>
Result<TenantId> Engine<B, Families, O>::create_tenant(const TenantQuota& quota) noexcept {
  return core_->create_tenant(quota);
}
template <class B, class Families, class O>
Result<void> Engine<B, Families, O>::change_tenant(TenantId tenant, const TenantQuota& quota) noexcept {
  return core_->change_tenant(tenant, quota);
}
template <class B, class Families, class O>
Result<void> Engine<B, Families, O>::remove_tenant(TenantId tenant) noexcept {
  return core_->remove_tenant(tenant);
}
template <class B, class Families, class O>
Result<SessionId> Engine<B, Families, O>::open_session(TenantId tenant) noexcept {
  return core_->open_session(tenant);
}
template <class B, class Families, class O>
Result<void> Engine<B, Families, O>::close_session(SessionId session) noexcept {
  return core_->close_session(session);
}
template <class B, class Families, class O>
Result<TenantLedger> Engine<B, Families, O>::usage(TenantId tenant) const noexcept {
  return core_->usage(tenant);
}
template <class B, class Families, class O> const PageTimes& Engine<B, Families, O>::page_times() const noexcept {
  return core_->page_times();
}
template <class B, class Families, class O> HeldMemory Engine<B, Families, O>::memory() noexcept {
  return core_->memory();
}
template <class B, class Families, class O> Result<void> Engine<B, Families, O>::evict() noexcept {
  return core_->evict();
}
template <class B, class Families, class O> Result<void> Engine<B, Families, O>::reopen() noexcept {
  return core_->reopen();
}
template <class B, class Families, class O> bool Engine<B, Families, O>::is_resident() const noexcept {
  return core_->is_resident();
}
template <class B, class Families, class O> Result<void> Engine<B, Families, O>::hold(bool on) noexcept {
  return core_->hold(on);
}
template <class B, class Families, class O> std::size_t Engine<B, Families, O>::running() noexcept {
  return core_->running();
}
template <class B, class Families, class O> TenantUse Engine<B, Families, O>::use(TenantId tenant) noexcept {
  return core_->use(tenant);
}
template <class B, class Families, class O> Result<void> Engine<B, Families, O>::expect_tenants() noexcept {
  return core_->expect_tenants();
}
template <class B, class Families, class O> std::uint64_t Engine<B, Families, O>::rate_wait_ns() noexcept {
  return core_->rate_wait_ns();
}
template <class B, class Families, class O>
void Engine<B, Families, O>::charge(TenantId tenant, const TenantUse& elsewhere) noexcept {
  core_->charge(tenant, elsewhere);
}
template <class B, class Families, class O>
Result<AdapterId> Engine<B, Families, O>::load_adapter(std::string_view path, float scale) noexcept {
  return load_adapter_file(ModelLoader<B, Families>::open(path, options().allocator), scale);
}
template <class B, class Families, class O>
Result<AdapterId> Engine<B, Families, O>::load_adapter(Span<const std::byte> memory, float scale) noexcept {
  return load_adapter_file(ModelLoader<B, Families>::open(memory, options().allocator), scale);
}
template <class B, class Families, class O>
Result<AdapterId> Engine<B, Families, O>::load_adapter_file(const Result<model::GgufFile>& file, float scale) noexcept {
  if (!file) return pass(file);
  return core_->load_adapter(*file, scale);
}
template <class B, class Families, class O>
Result<void> Engine<B, Families, O>::unload_adapter(AdapterId adapter) noexcept {
  return core_->unload_adapter(adapter);
}
template <class B, class Families, class O> ThreadHook Engine<B, Families, O>::workers() const noexcept {
  return core_->model().workers();
}
template <class B, class Families, class O> Result<void> Engine<B, Families, O>::draft_with(Engine&& drafter) noexcept {
  if (drafter.core_.get() == core_.get())
    return fail(Errc::invalid_argument, "the engine is to guess for itself, expected another as the draft model");
  return core_->draft_with(drafter.core_);
}
template <class B, class Families, class O> std::uint32_t Engine<B, Families, O>::processed(RequestId id) noexcept {
  return core_->processed(id);
}
template <class B, class Families, class O> std::uint64_t Engine<B, Families, O>::idle_ns() noexcept {
  return core_->idle_ns();
}
template <class B, class Families, class O>
Result<double> Engine<B, Families, O>::perplexity(std::string_view text) noexcept {
  return core_->perplexity(text);
}
template <class B, class Families, class O>
Result<Vector<std::byte>> Engine<B, Families, O>::save(RequestId id) noexcept {
  return core_->save(id);
}
template <class B, class Families, class O>
Result<RequestId> Engine<B, Families, O>::restore(Span<const std::byte> snapshot, const Request& request) noexcept {
  return core_->restore(snapshot, request);
}

template <class B, class Families, class O>
Result<Embeddings> Engine<B, Families, O>::embed_by(Span<const EmbedInput> inputs, const EmbedOptions& options,
                                                    const StopPoll& stop) noexcept {
  return core_->embed(inputs, options, stop);
}

// --- what is open ---

template <class B, class Families, class O> const text::Tokenizer* Engine<B, Families, O>::tokenizer() const noexcept {
  return core_->model().tokenizer();
}
template <class B, class Families, class O> Result<std::uint64_t> Engine<B, Families, O>::fingerprint() const noexcept {
  const auto identity = core_->model().identity();
  if (!identity) return pass(identity);
  return identity->fingerprint;
}
template <class B, class Families, class O> const EngineOptions& Engine<B, Families, O>::options() const noexcept {
  return core_->model().options();
}
template <class B, class Families, class O> const model::GgufFile& Engine<B, Families, O>::file() const noexcept {
  return core_->model().file();
}
template <class B, class Families, class O> const model::Config& Engine<B, Families, O>::config() const noexcept {
  return core_->model().config();
}
template <class B, class Families, class O> const plan::CompiledPlan& Engine<B, Families, O>::plan() const noexcept {
  return core_->model().plan();
}
template <class B, class Families, class O> plan::ModelPlans Engine<B, Families, O>::plans() const noexcept {
  return {nullptr, nullptr, &plan(), &plan()};
}
template <class B, class Families, class O>
const exec::Executor<B, O>& Engine<B, Families, O>::executor() const noexcept {
  return core_->model().executor();
}
template <class B, class Families, class O> exec::Executor<B, O>& Engine<B, Families, O>::executor() noexcept {
  return core_->model().executor();
}
template <class B, class Families, class O> DeviceOf<B>& Engine<B, Families, O>::device() noexcept {
  return core_->model().device();
}
template <class B, class Families, class O> std::uint32_t Engine<B, Families, O>::context() const noexcept {
  return core_->model().context();
}

}  // namespace zrt::inline ZRT_ABI
