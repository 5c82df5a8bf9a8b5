// SPDX-License-Identifier: Apache-2.0
// zrt/engine/engine.hpp: what a host sees: a model on a backend, and requests that become tokens. Its code is in engine_members.hpp.
#pragma once

#include <zrt/core/owned.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/engine/adapter_id.hpp>
#include <zrt/engine/callables.hpp>
#include <zrt/engine/embedding.hpp>
#include <zrt/engine/held_memory.hpp>
#include <zrt/engine/options.hpp>
#include <zrt/exec/device_of.hpp>
#include <zrt/exec/observer.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI {

namespace exec {
template <class B, class O> class Executor;
}
namespace model {
class GgufFile;
struct GgufReader;
struct Config;
}  // namespace model
namespace plan {
struct CompiledPlan;
struct ModelPlans;
}  // namespace plan
namespace text {
class Tokenizer;
}

/// The families of <zrt/models.hpp>.
struct AllFamilies;

}  // namespace zrt::inline ZRT_ABI

namespace zrt::inline ZRT_ABI {

/// Says whether to stop: a std::stop_token, or a type of the host's with the same member.
///
/// Workers of a step call `stop_requested` between instructions, from any thread, while other threads may set the
/// answer; an atomic flag is enough. Once true it must stay true. It must live until the call that took it returns.
template <class S>
concept StopToken = requires(const S& stop) {
  { stop.stop_requested() } noexcept -> std::convertible_to<bool>;
};

struct NeverStops {
  [[nodiscard]] static constexpr bool stop_requested() noexcept { return false; }
};

/// Alignment of a model in the host's memory: kernels read weights in place, as whole f32.
inline constexpr std::size_t kMemoryAlignment = 4;

namespace detail {

/// See engine_core.hpp.
template <class B, class Families, class O> class EngineCore;
/// Asserts that B runs the families; see check_engine.hpp.
template <class B, class Families> struct CheckEngine;
/// Complete where the code of engines is included.
template <class Families> struct EngineCode;

template <class Families>
concept FamiliesAreKnown = requires {
  typename Families::List;
  sizeof(EngineCode<Families>);
};

}  // namespace detail

/// Whether another source compiles an engine that this one declares, as the headers of compiled/ do.
template <class B, class Families, class O> inline constexpr bool kCompiledElsewhere = false;

namespace detail {

/// Asks nothing of the families of an engine that is compiled elsewhere: they may be defined later in the same source.
template <class B, class Families, class O> consteval bool has_families() {
  if constexpr (kCompiledElsewhere<B, Families, O>)
    return true;
  else
    return FamiliesAreKnown<Families>;
}

/// A base of the engine: what is wrong with backend or families is said before anything uses them.
struct Unchecked {};
template <class B, class Families, class O> consteval auto engine_check() {
  if constexpr (kCompiledElsewhere<B, Families, O>)
    return std::type_identity<Unchecked>{};
  else if constexpr (FamiliesAreKnown<Families>)
    return std::type_identity<CheckEngine<B, Families>>{};
  else
    return std::type_identity<Unchecked>{};
}
template <class B, class Families, class O> using EngineCheck = typename decltype(engine_check<B, Families, O>())::type;

}  // namespace detail

/// A model on backend B. Movable; one thread at a time may call anything but `submit`, `cancel` and `pause`,
/// which any thread may call at any time. Callables of the host are called inside `generate`, `step` and `evaluate`
/// and may call these three too; anything else refuses them with Errc::invalid_argument.
///
/// Threads: call an engine from one thread at a time. `submit`, `cancel` and `pause` may come from any thread at any time,
/// and from the callables that `generate`, `step` and `evaluate` call; all other calls refuse a callable with
/// Errc::invalid_argument.
///
/// Errors: every call that can fail returns a typed error, and the engine stays usable. No failure ends the process.
///
/// `Families` lists the model families that it runs. `O` observes it: a type such as trace::TimelineObserver, whose
/// handle `open` takes. An engine without an observer holds no code for one.
template <class B, class Families = AllFamilies, class O = exec::NoObserver>
class Engine : detail::EngineCheck<B, Families, O> {
  static_assert(detail::has_families<B, Families, O>(),
                "zrt: no model families are known here; include <zrt/models.hpp>, for a list of your own too");
  using Core = detail::EngineCore<B, Families, O>;

 public:
  Engine(Engine&& other) noexcept;
  Engine& operator=(Engine&& other) noexcept;
  ~Engine();

  /// Opens a GGUF file by path and maps it; weights are used in place. `device` holds the backend's own options, if it
  /// has any.
  [[nodiscard]] static Result<Engine> open(std::string_view path, const EngineOptions& options = {},
                                           const DeviceOptionsOf<B>& device = {}, O observer = {}) noexcept;
  /// Opens a GGUF file in memory. The memory must outlive the engine and be aligned to kMemoryAlignment bytes.
  ///
  /// Errors: also Errc::invalid_argument for misaligned memory.
  [[nodiscard]] static Result<Engine> open(Span<const std::byte> memory, const EngineOptions& options = {},
                                           const DeviceOptionsOf<B>& device = {}, O observer = {}) noexcept;
  /// Opens a GGUF file through the host's reader and copies its tensors into memory of the allocator.
  [[nodiscard]] static Result<Engine> open(const model::GgufReader& reader, const EngineOptions& options = {},
                                           const DeviceOptionsOf<B>& device = {}, O observer = {}) noexcept;

  /// Runs one request to its end. `on_token(const Token&) -> bool` says whether to go on.
  ///
  /// `stop` takes effect within one step, in prefill too, and is a finish reason, not an error.
  /// Requests that other threads submit meanwhile wait for the next `step`.
  /// Errors: those of `submit` and `step`; Errc::invalid_argument while other requests run.
  template <class F, StopToken S = NeverStops>
  [[nodiscard]] Result<Completion> generate(const Request& request, F&& on_token, const S& stop = {}) noexcept {
    static_assert(
        HearsTokens<F>,
        "zrt: the callable of generate must be bool(const zrt::Token&): true goes on, false ends the request");
    const StopPoll poll{&stop,
                        [](const void* context) noexcept { return static_cast<const S*>(context)->stop_requested(); }};
    auto heard = [&]([[maybe_unused]] RequestId id, [[maybe_unused]] const Token& token) -> bool {
      if constexpr (HearsTokens<F>) return on_token(token);
      return false;
    };
    return generate_by(request, detail::OnToken(heard), poll);
  }

  /// Queues a request; it starts in a later `step` when a slot and its pages are free. One that its tenant's quota or a
  /// full queue refuses ends in the next step as `failed`: Token::error says why, Token::retry_after_ns when to come back.
  ///
  /// Any thread. Errors: Errc::invalid_argument naming the field, Errc::capacity_exceeded (longer than the context, or a
  /// flood: more of its tenant than its queues hold, and no step has read them), Errc::out_of_memory.
  [[nodiscard]] Result<RequestId> submit(const Request& request) noexcept;

  /// Asks for the end of a request; its last call then says FinishReason::cancelled. Any thread. If the allocator has
  /// no memory to note it, the request runs on; ask again.
  void cancel(RequestId id) noexcept;

  /// Says that the client of a request does not read, or with `on` false that it reads again. From the next step on one
  /// token is held for it and the request computes no more. Others that wait soon have its slot, see docs/scheduler.md; after
  /// EngineOptions::slow_client_ns with a token held it ends with FinishReason::client_too_slow, in two steps at the
  /// least. Without a clock it ends after 256 steps. Tokens are what they would be without a pause.
  ///
  /// Any thread. Errors: Errc::out_of_memory, Errc::unimplemented for an engine whose runs are recorded. Of a request that
  /// has ended nothing is heard.
  [[nodiscard]] Result<void> pause(RequestId id, bool on = true) noexcept;

  /// Returns how many tokens of a running request the model has read, of prompt and generated text: the progress of a
  /// long prompt. 0 for a request that waits or has ended. Call it from the thread that calls `step`.
  [[nodiscard]] std::uint32_t processed(RequestId id) noexcept;

  /// Returns for how many nanoseconds a host's loop may sleep, because `step` would find nothing to do: 0 if there is
  /// work, kUntilSubmit if no request is left.
  ///
  /// Any other number says that tenants have used up their rates. At its end some tokens leave a window: call `step`,
  /// then ask again. A submit, a cancel or a change of a tenant ends the time sooner, so the host wakes its loop for
  /// these. Call it after a step, from the same thread. With tenants it reads the clock once.
  [[nodiscard]] std::uint64_t idle_ns() noexcept;

  /// Creates a tenant, whose requests name it. Its quota and class count from the next step on, and its prefixes are its
  /// own, or its group's. docs/scheduler.md says what each field bounds.
  ///
  /// Errors: Errc::invalid_argument for a quota that check(TenantQuota) refuses, and for an engine without a clock;
  /// Errc::capacity_exceeded where reserved pages do not fit beside those of others, or no room for a tenant is left;
  /// Errc::out_of_memory; Errc::unimplemented for an engine whose runs are recorded.
  [[nodiscard]] Result<TenantId> create_tenant(const TenantQuota& quota) noexcept;
  /// Changes a tenant's quota while it is served; class and group stay. Where less is left to it, its own requests wait
  /// again or, if they can no longer fit, end as `failed`.
  ///
  /// Errors: those of create_tenant; Errc::not_found.
  [[nodiscard]] Result<void> change_tenant(TenantId tenant, const TenantQuota& quota) noexcept;
  /// Forgets a tenant and its prefixes. Its requests end as `cancelled`, as the next `step` says; those that no step has
  /// read end as `failed`, with Errc::not_found. Errors: Errc::not_found.
  [[nodiscard]] Result<void> remove_tenant(TenantId tenant) noexcept;
  /// Opens a session of a tenant, or of the host. Requests name it, and its end is theirs; prefixes are the tenant's with
  /// or without one. It needs no memory.
  ///
  /// Errors: Errc::not_found; Errc::capacity_exceeded where the tenant has TenantQuota::max_sessions, or all tenants 16,384;
  /// Errc::unimplemented for an engine whose runs are recorded.
  [[nodiscard]] Result<SessionId> open_session(TenantId tenant = {}) noexcept;
  /// Closes a session. Its requests end as `cancelled`, as the next `step` says; those that no step has read end as
  /// `failed`. Errors: Errc::not_found.
  [[nodiscard]] Result<void> close_session(SessionId session) noexcept;
  /// What a tenant, or the host, has asked for and got. Errors: Errc::not_found.
  [[nodiscard]] Result<TenantLedger> usage(TenantId tenant) const noexcept;
  /// How long pages lived and lay unused before they were evicted, and how soon they were used again: all zero without
  /// EngineOptions::page_times.
  [[nodiscard]] const PageTimes& page_times() const noexcept;

  /// Bytes that the engine holds now.
  [[nodiscard]] HeldMemory memory() noexcept;
  /// Gives back weights, caches and arenas while nothing runs. All else stays: tenants, ids, ledgers, adapters, and
  /// requests that wait, so `submit` and `cancel` go on from any thread. No request begins, and prefixes are forgotten.
  ///
  /// Errors: Errc::invalid_state while a request runs; Errc::unimplemented for an engine whose runs are recorded.
  [[nodiscard]] Result<void> evict() noexcept;
  /// Brings them back: answers are what they were. Where that fails, the next `step` ends what waits as `failed`, and a
  /// later call may try again.
  ///
  /// Errors: the device's, Errc::out_of_memory.
  [[nodiscard]] Result<void> reopen() noexcept;
  /// Whether the model can compute: false from `evict` to `reopen`. Meanwhile only the calls named there, and those of
  /// tenants, adapters and what is known of the file, are of use; others give Errc::invalid_state, and there is no
  /// executor.
  [[nodiscard]] bool is_resident() const noexcept;
  /// Makes the room that tenants need, so that `memory` counts it and create_tenant takes no more: for the states of
  /// preempted requests, where the model has recurrent layers or windows. Errors: Errc::out_of_memory.
  [[nodiscard]] Result<void> expect_tenants() noexcept;
  /// Whether requests that wait are held back, so that the engine runs empty. Errors: Errc::unimplemented for an engine
  /// whose runs are recorded.
  [[nodiscard]] Result<void> hold(bool on) noexcept;
  /// Requests that run, in this moment between two steps.
  [[nodiscard]] std::size_t running() noexcept;
  /// What a tenant has had of this engine, and whether it has requests; nothing for one that is not there.
  [[nodiscard]] TenantUse use(TenantId tenant) noexcept;
  /// Nanoseconds in which no request that waits may begin, whatever slots and memory there are, because the rates of their
  /// tenants are used up; 0 where one may, kUntilSubmit where none waits.
  [[nodiscard]] std::uint64_t rate_wait_ns() noexcept;
  /// Counts what a tenant had of other engines against its rates and its place in line; see ModelSet.
  void charge(TenantId tenant, const TenantUse& elsewhere) noexcept;

  /// Loads a LoRA adapter from a GGUF file, as llama.cpp's converter writes it; requests name it, and its products count
  /// `scale` times. Requests with different adapters, or none, run in one step, each with the bits that it has alone.
  /// The file is not needed afterwards. Call it between steps.
  ///
  /// Errors: those of model::GgufFile::open and model::LoraFile::read; Errc::invalid_argument for another architecture,
  /// missing_weight for a weight that the model does not have, unimplemented for one that no adapter changes (experts,
  /// embeddings, the head), shape_mismatch; Errc::capacity_exceeded for more adapters than EngineOptions::adapters or a
  /// rank above EngineOptions::adapter_rank. All name expected, found and where.
  [[nodiscard]] Result<AdapterId> load_adapter(std::string_view path, float scale = 1.0f) noexcept;
  /// Loads an adapter from a GGUF file in memory.
  [[nodiscard]] Result<AdapterId> load_adapter(Span<const std::byte> memory, float scale = 1.0f) noexcept;
  /// Makes room for another adapter. Errors: Errc::not_found; Errc::invalid_state while a request runs or waits with it.
  [[nodiscard]] Result<void> unload_adapter(AdapterId adapter) noexcept;

  /// The workers of its steps, for EngineOptions::thread_hook of another engine that is called from the same thread and
  /// does not outlive this one: two pools would wait for work side by side. No hook where the calling thread works alone.
  [[nodiscard]] ThreadHook workers() const noexcept;

  /// Takes another open engine whose model, smaller and of the same vocabulary, guesses tokens for this one: steps check
  /// its guesses beside those from a request's own text, EngineOptions::draft_tokens in all. Answers stay what they were.
  ///
  /// Measured times say for each request whether guesses pay. The draft model is evicted and reopened with this one, and
  /// `memory` counts its weights, arenas and the pages of its slots: give it before ModelSet::add, which looks once. A
  /// refused engine stays the host's.
  ///
  /// Errors: Errc::invalid_argument for the engine itself, draft_tokens of 0, another vocabulary, fewer slots or a shorter
  /// context than this engine has; Errc::invalid_state while either has requests, or a draft model; Errc::unimplemented
  /// where either model has recurrent layers, or the draft model windows, and for an engine whose runs are recorded.
  [[nodiscard]] Result<void> draft_with(Engine&& drafter) noexcept;

  /// Runs one step over all running requests and calls `on_token(RequestId, const Token&) -> bool` for each token that
  /// they generated. Returns how many requests are left, queued ones included.
  ///
  /// A request whose data breaks an op's contract, such as logits without a number, ends alone as `failed`, with the
  /// error in its last Token. All others go on with the same bits.
  /// Errors: the device's, and Errc::spec_violation if the request at fault is not known. All requests of the step then
  /// end as `failed`.
  template <class F> [[nodiscard]] Result<std::size_t> step([[maybe_unused]] F&& on_token) noexcept {
    static_assert(HearsTokensOfRequests<F>,
                  "zrt: the callable of step must be bool(zrt::RequestId, const zrt::Token&): "
                  "true goes on, false ends the request");
    auto heard = [&]([[maybe_unused]] RequestId id, [[maybe_unused]] const Token& token) -> bool {
      if constexpr (HearsTokensOfRequests<F>) return on_token(id, token);
      return false;
    };
    return step_by(detail::OnToken(heard));
  }
  /// Ends what was cancelled since the last step, and notes which clients read, without a step: `on_token` hears of the
  /// ends as in `step`. For a host that steps another engine now. Returns how many requests are left.
  template <class F>
  [[nodiscard]] Result<std::size_t> hear(F&& on_token) noexcept
    requires HearsTokensOfRequests<F>
  {
    auto heard = [&](RequestId id, const Token& token) -> bool { return on_token(id, token); };
    return hear_by(detail::OnToken(heard));
  }

  /// Feeds `tokens` from position 0 in a free slot and calls `on_logits(position, logits)` for each position. Then it
  /// feeds `decode` one by one, as decode steps.
  ///
  /// Errors: Errc::capacity_exceeded when no slot is free or the tokens exceed the context; Errc::not_found for an
  /// adapter that is not loaded.
  template <class F>
  [[nodiscard]] Result<void> evaluate(Span<const std::int32_t> tokens, Span<const std::int32_t> decode, F&& on_logits,
                                      AdapterId adapter = {}) noexcept {
    static_assert(HearsLogits<F>,
                  "zrt: the callable of evaluate must take (std::uint32_t position, zrt::Span<const float> logits)");
    auto next = [&](std::uint32_t position, [[maybe_unused]] Span<const float> logits) -> std::int32_t {
      if constexpr (HearsLogits<F>) on_logits(position, logits);
      const std::size_t read = std::size_t{position} + 1;
      return read < tokens.size() || read - tokens.size() >= decode.size() ? kNoToken : decode[read - tokens.size()];
    };
    return evaluate_by(tokens, decode.size(), detail::ChooseToken(next), adapter);
  }

  /// Feeds `tokens` from position 0 in a free slot, then `steps` tokens of the host's choice one by one, as decode
  /// steps.
  ///
  /// It calls `choose(position, logits) -> std::int32_t` for each position. What `choose` returns for the last of
  /// `tokens` and for each decode step but the last is the token that follows.
  /// Errors: Errc::capacity_exceeded when no slot is free or the tokens exceed the context; Errc::invalid_argument
  /// without tokens, and for a token outside the vocabulary; Errc::not_found for an adapter that is
  /// not loaded.
  template <class F>
  [[nodiscard]] Result<void> evaluate_steps(Span<const std::int32_t> tokens, std::size_t steps,
                                            [[maybe_unused]] F&& choose, AdapterId adapter = {}) noexcept {
    static_assert(ChoosesTokens<F>,
                  "zrt: the callable of evaluate_steps must be std::int32_t(std::uint32_t position, "
                  "zrt::Span<const float> logits), which says what token follows");
    auto next = [&]([[maybe_unused]] std::uint32_t position,
                    [[maybe_unused]] Span<const float> logits) -> std::int32_t {
      if constexpr (ChoosesTokens<F>) return choose(position, logits);
      return kNoToken;
    };
    return evaluate_by(tokens, steps, detail::ChooseToken(next), adapter);
  }

  /// Returns the perplexity of a text: exp of the mean negative log-likelihood of its tokens, summed in f64.
  ///
  /// The text runs in windows of the context length, with BOS first if the model adds it. Only the second half of a
  /// window counts, so that every scored token has half a window before it. llama.cpp does the same; figures compare.
  [[nodiscard]] Result<double> perplexity(std::string_view text) noexcept;

  /// Returns a vector for each text, or its scores with Pooling::rank, from an encoder or from a decoder that was opened
  /// with EngineOptions::embeddings.
  ///
  /// Texts run in the free slots, as many in a step as fit; what a text gives does not depend on the others.
  /// Errors: Errc::invalid_argument for a model that was opened for tokens, a pooling that the model does not have or the
  /// file does not name, and a text without tokens; Errc::capacity_exceeded for a text longer than the context, naming
  /// both lengths, and when no slot is free; Errc::cancelled when `stop` ended it, within one step; those of `step`.
  template <StopToken S = NeverStops>
  [[nodiscard]] Result<Embeddings> embed(Span<const EmbedInput> inputs, const EmbedOptions& options = {},
                                         const S& stop = {}) noexcept {
    return embed_by(inputs, options, {&stop, [](const void* context) noexcept {
                                        return static_cast<const S*>(context)->stop_requested();
                                      }});
  }

  /// Returns a running request's tokens and state, for `restore` in an engine of the same model, kv_type and act.
  [[nodiscard]] Result<Vector<std::byte>> save(RequestId id) noexcept;
  /// Continues a saved request as `request` says; its prompt is ignored, its adapter is the one that the saved request
  /// had. Bits and text are those of an unbroken run, text that was held back included. If the request has
  /// `request.max_tokens` tokens already, the next step ends it with FinishReason::length.
  ///
  /// The bytes may come from anywhere. Errors: Errc::invalid_file or truncated_file for a damaged snapshot or other
  /// bytes; Errc::unsupported_version for another version; Errc::dtype_mismatch or invalid_argument, saying what is
  /// expected and found, for another model, adapter, kv_type or act; Errc::capacity_exceeded without a free slot or
  /// pages; Errc::invalid_state after a tenant was changed or removed, until a step has told whose requests ended with
  /// it;
  /// Errc::unimplemented for a request of a tenant, or with a grammar; those of `submit`.
  [[nodiscard]] Result<RequestId> restore(Span<const std::byte> snapshot, const Request& request) noexcept;

  /// The tokenizer, or null when the file has no vocabulary.
  [[nodiscard]] const text::Tokenizer* tokenizer() const noexcept;
  /// What tells the model from others: a hash of its sizes, constants, tokens and pieces of every tensor. Snapshots and
  /// recordings bear it.
  [[nodiscard]] Result<std::uint64_t> fingerprint() const noexcept;
  [[nodiscard]] const EngineOptions& options() const noexcept;
  [[nodiscard]] const model::GgufFile& file() const noexcept;
  [[nodiscard]] const model::Config& config() const noexcept;
  [[nodiscard]] const plan::CompiledPlan& plan() const noexcept;
  /// The stages of the model.
  [[nodiscard]] plan::ModelPlans plans() const noexcept;
  [[nodiscard]] const exec::Executor<B, O>& executor() const noexcept;
  [[nodiscard]] exec::Executor<B, O>& executor() noexcept;
  [[nodiscard]] DeviceOf<B>& device() noexcept;
  [[nodiscard]] std::uint32_t context() const noexcept;

 private:
  explicit Engine(Owned<Core> core) noexcept;

  [[nodiscard]] static Result<Engine> open_file(Result<model::GgufFile> file, const EngineOptions& options,
                                                const DeviceOptionsOf<B>& device, O observer) noexcept;
  [[nodiscard]] Result<Completion> generate_by(const Request& request, const detail::OnToken& on_token,
                                               const StopPoll& stop) noexcept;
  [[nodiscard]] Result<std::size_t> step_by(const detail::OnToken& on_token) noexcept;
  [[nodiscard]] Result<std::size_t> hear_by(const detail::OnToken& on_token) noexcept;
  [[nodiscard]] Result<void> evaluate_by(Span<const std::int32_t> tokens, std::size_t steps,
                                         const detail::ChooseToken& choose, AdapterId adapter) noexcept;
  [[nodiscard]] Result<AdapterId> load_adapter_file(const Result<model::GgufFile>& file, float scale) noexcept;
  [[nodiscard]] Result<Embeddings> embed_by(Span<const EmbedInput> inputs, const EmbedOptions& options,
                                            const StopPoll& stop) noexcept;

  Owned<Core> core_;
};

}  // namespace zrt::inline ZRT_ABI
