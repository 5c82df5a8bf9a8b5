// SPDX-License-Identifier: Apache-2.0
// zrt/engine/engine.hpp: what a host sees: a model on a backend, and requests that become tokens.
#pragma once

#include <zrt/engine/active_request.hpp>
#include <zrt/engine/callables.hpp>
#include <zrt/engine/engine_core.hpp>

#include <concepts>

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

template <class F>
concept FamiliesAreDefined = requires { typename F::List; };

template <class B, class List> struct CheckFamilies;
template <class B, class... Arch> struct CheckFamilies<B, boost::mp11::mp_list<Arch...>> {
  static_assert((NoOpLeftOut<OpsNotRun<B, typename Arch::Ops>> && ...),
                "zrt: the backend does not run an op that a model family names");
  static constexpr bool kOk = true;
};

}  // namespace detail

/// A model on backend B, and the requests that run on it. Movable.
///
/// Threads: call an engine from one thread at a time. `submit` and `cancel` may come from any thread at any time, and
/// from the callables that `generate`, `step` and `evaluate` call; all other calls refuse a callable with
/// Errc::invalid_argument.
///
/// Errors: every call that can fail returns a typed error, and the engine stays usable. No failure ends the process.
///
/// `Families` lists the model families that it runs. `O` observes it: a type such as trace::TimelineObserver, whose
/// handle `open` takes. An engine without an observer holds no code for one.
template <class B, class Families = AllFamilies, class O = exec::NoObserver> class Engine {
  static_assert(detail::FamiliesAreDefined<Families>,
                "zrt: no model families are known here; include <zrt/models.hpp> or give Engine a list of families");
  using Ops = ModelOps<B, Families>;
  static_assert(detail::CheckFamilies<B, typename Families::List>::kOk && CheckBackend<B, Ops>::kOk);
  using Core = detail::EngineCore<B, Families, Ops, O>;

 public:
  /// Opens a GGUF file by path and maps it; weights are used in place. `device` holds the backend's own options, if it
  /// has any.
  [[nodiscard]] static Result<Engine> open(std::string_view path, const EngineOptions& options = {},
                                           const DeviceOptionsOf<B>& device = {}, O observer = {}) noexcept {
    return open_file(ModelLoader<B, Families>::open(path, options.allocator), options, device, observer);
  }
  /// Opens a GGUF file in memory. The memory must outlive the engine and be aligned to kMemoryAlignment bytes.
  ///
  /// Errors: also Errc::invalid_argument for misaligned memory.
  [[nodiscard]] static Result<Engine> open(Span<const std::byte> memory, const EngineOptions& options = {},
                                           const DeviceOptionsOf<B>& device = {}, O observer = {}) noexcept {
    if (const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(memory.data()) % kMemoryAlignment; past != 0)
      return fail(Errc::invalid_argument, "the model's memory begins ", past, " bytes past a multiple of ",
                  kMemoryAlignment, ", expected a multiple: weights are used where they lie");
    return open_file(ModelLoader<B, Families>::open(memory, options.allocator), options, device, observer);
  }
  /// Opens a GGUF file through the host's reader and copies its tensors into memory of the allocator.
  [[nodiscard]] static Result<Engine> open(const model::GgufReader& reader, const EngineOptions& options = {},
                                           const DeviceOptionsOf<B>& device = {}, O observer = {}) noexcept {
    return open_file(ModelLoader<B, Families>::open(reader, options.allocator), options, device, observer);
  }

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
    if (core_->has_requests())
      return fail(Errc::invalid_argument, "generate runs alone; use submit and step for several requests");
    const exec::StopPoll poll{
        &stop, [](const void* context) noexcept { return static_cast<const S*>(context)->stop_requested(); }};
    auto heard = [&]([[maybe_unused]] RequestId id, [[maybe_unused]] const Token& token) -> bool {
      if constexpr (HearsTokens<F>) return on_token(token);
      return false;
    };
    return core_->generate(request, heard, poll);
  }

  /// Queues a request; it starts in a later `step` when a slot and its pages are free.
  ///
  /// Any thread. Errors: Errc::invalid_argument naming the field, Errc::capacity_exceeded (longer than the context),
  /// Errc::out_of_memory.
  [[nodiscard]] Result<RequestId> submit(const Request& request) noexcept { return core_->submit(request); }

  /// Asks for the end of a request; its last call then says FinishReason::cancelled. Any thread. If the allocator has
  /// no memory to note it, the request runs on; ask again.
  void cancel(RequestId id) noexcept { core_->cancel(id); }

  /// Returns how many tokens of a running request the model has read, of prompt and generated text: the progress of a
  /// long prompt. 0 for a request that waits or has ended. Call it from the thread that calls `step`.
  [[nodiscard]] std::uint32_t processed(RequestId id) noexcept { return core_->processed(id); }

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
    if constexpr (HearsTokensOfRequests<F>)
      return core_->step(on_token);
    else
      return 0;
  }

  /// Feeds `tokens` from position 0 in a free slot and calls `on_logits(position, logits)` for each position. Then it
  /// feeds `decode` one by one, as decode steps.
  ///
  /// Errors: Errc::capacity_exceeded when no slot is free or the tokens exceed the context.
  template <class F>
  [[nodiscard]] Result<void> evaluate(Span<const std::int32_t> tokens, Span<const std::int32_t> decode,
                                      F&& on_logits) noexcept {
    static_assert(HearsLogits<F>,
                  "zrt: the callable of evaluate must take (std::uint32_t position, zrt::Span<const float> logits)");
    auto next = [&](std::uint32_t position, [[maybe_unused]] Span<const float> logits) -> std::int32_t {
      if constexpr (HearsLogits<F>) on_logits(position, logits);
      const std::size_t read = std::size_t{position} + 1;
      return read < tokens.size() || read - tokens.size() >= decode.size() ? kNoToken : decode[read - tokens.size()];
    };
    return core_->evaluate(tokens, decode.size(), next);
  }

  /// Feeds `tokens` as `evaluate` does, then `steps` tokens that the caller chooses, as decode steps.
  ///
  /// `choose(position, logits) -> std::int32_t` returns the token that follows `position`. Its answers count from the
  /// last of `tokens` on; the answer to the last step is not fed.
  ///
  /// Errors: those of `evaluate`; Errc::invalid_argument for a chosen token outside the vocabulary.
  template <class F>
  [[nodiscard]] Result<void> evaluate_steps(Span<const std::int32_t> tokens, std::size_t steps,
                                            [[maybe_unused]] F&& choose) noexcept {
    static_assert(ChoosesTokens<F>,
                  "zrt: the callable of evaluate_steps must be std::int32_t(std::uint32_t position, "
                  "zrt::Span<const float> logits), which says what token follows");
    if constexpr (ChoosesTokens<F>)
      return core_->evaluate(tokens, steps, choose);
    else
      return {};
  }

  /// Returns the perplexity of a text: exp of the mean negative log-likelihood of its tokens, summed in f64.
  ///
  /// The text runs in windows of the context length, with BOS first if the model adds it. Only the second half of a
  /// window counts, so that every scored token has half a window before it. llama.cpp does the same; figures compare.
  [[nodiscard]] Result<double> perplexity(std::string_view text) noexcept { return core_->perplexity(text); }

  /// Returns a running request's tokens and state, for `restore` in an engine of the same model, kv_type and act.
  [[nodiscard]] Result<Vector<std::byte>> save(RequestId id) noexcept { return core_->save(id); }
  /// Continues a saved request as `request` says; its prompt is ignored. Bits and text are those of an unbroken run,
  /// text that was held back included. If the request has `request.max_tokens` tokens already, the next step ends it
  /// with FinishReason::length.
  ///
  /// The bytes may come from anywhere. Errors: Errc::invalid_file or truncated_file for a damaged snapshot or other
  /// bytes; Errc::unsupported_version for another version; Errc::dtype_mismatch or invalid_argument, saying what is
  /// expected and found, for another model, kv_type or act; Errc::capacity_exceeded when no slot is free; those of
  /// `submit`.
  [[nodiscard]] Result<RequestId> restore(Span<const std::byte> snapshot, const Request& request) noexcept {
    return core_->restore(snapshot, request);
  }

  /// The tokenizer, or null when the file has no vocabulary.
  [[nodiscard]] const text::Tokenizer* tokenizer() const noexcept { return core_->model().tokenizer(); }
  /// What tells the model from others: a hash of its sizes, constants, tokens and pieces of every tensor. Snapshots and
  /// recordings bear it.
  [[nodiscard]] Result<std::uint64_t> fingerprint() const noexcept {
    const auto identity = core_->model().identity();
    if (!identity) return pass(identity);
    return identity->fingerprint;
  }
  [[nodiscard]] const EngineOptions& options() const noexcept { return core_->model().options(); }
  [[nodiscard]] const model::GgufFile& file() const noexcept { return core_->model().file(); }
  [[nodiscard]] const model::Config& config() const noexcept { return core_->model().config(); }
  [[nodiscard]] const plan::CompiledPlan& plan() const noexcept { return core_->model().plan(); }
  /// The stages of the model.
  [[nodiscard]] plan::ModelPlans plans() const noexcept {
    return {nullptr, nullptr, &core_->model().plan(), &core_->model().plan()};
  }
  [[nodiscard]] const exec::Executor<B, O>& executor() const noexcept { return core_->model().executor(); }
  [[nodiscard]] exec::Executor<B, O>& executor() noexcept { return core_->model().executor(); }
  [[nodiscard]] typename B::Device& device() noexcept { return core_->model().device(); }
  [[nodiscard]] std::uint32_t context() const noexcept { return core_->model().context(); }

 private:
  explicit Engine(Owned<Core> core) noexcept : core_(std::move(core)) {}

  // Not inline: `extern template` then keeps all that opening a model instantiates out of a host's other sources.
  [[nodiscard]] static Result<Engine> open_file(Result<model::GgufFile> file, const EngineOptions& options,
                                                const DeviceOptionsOf<B>& device, O observer) noexcept;

  Owned<Core> core_;
};

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

}  // namespace zrt::inline ZRT_ABI
