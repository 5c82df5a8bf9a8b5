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
/// Threads: any of the step's workers asks it, between instructions, while other threads may be changing the answer,
/// so `stop_requested` must be callable from any thread at the same time as whatever sets it; an atomic flag is.
/// Once true it stays true: one worker's answer ends the step for all. It lives until the call that took it returns.
template <class S>
concept StopToken = requires(const S& stop) {
  { stop.stop_requested() } noexcept -> std::convertible_to<bool>;
};

struct NeverStops {
  [[nodiscard]] static constexpr bool stop_requested() noexcept { return false; }
};

/// What the address of a model in the host's memory must be a multiple of: weights are read as whole f32.
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

/// A model on backend B. Movable; one thread at a time may call anything but `submit` and `cancel`,
/// which any thread may call at any time. Callables of the host are called inside `generate`, `step` and `evaluate`
/// and may call `submit` and `cancel` too; anything else refuses them with Errc::invalid_argument.
///
/// Nothing that goes wrong ends the process: every call that can fail returns a typed error, and the
/// engine stays usable.
///
/// `O` watches what the engine does: a type such as trace::TimelineObserver, whose handle `open` takes. Without one the
/// engine holds no code for it.
template <class B, class Families = AllFamilies, class O = exec::NoObserver> class Engine {
  static_assert(detail::FamiliesAreDefined<Families>,
                "zrt: no model families are known here; include <zrt/models.hpp> or give Engine a list of families");
  using Ops = ModelOps<B, Families>;
  static_assert(detail::CheckFamilies<B, typename Families::List>::kOk && CheckBackend<B, Ops>::kOk);
  using Core = detail::EngineCore<B, Families, Ops, O>;

 public:
  /// Opens a GGUF file by path; weights are used where they are mapped. `device` is what the backend wants to know of
  /// the device that it opens, if anything.
  [[nodiscard]] static Result<Engine> open(std::string_view path, const EngineOptions& options = {},
                                           const DeviceOptionsOf<B>& device = {}, O observer = {}) noexcept {
    return open_file(ModelLoader<B, Families>::open(path, options.allocator), options, device, observer);
  }
  /// Opens a GGUF file in memory, which must outlive the engine and begin at a multiple of kMemoryAlignment bytes.
  ///
  /// Errors: also Errc::invalid_argument for memory that begins elsewhere.
  [[nodiscard]] static Result<Engine> open(Span<const std::byte> memory, const EngineOptions& options = {},
                                           const DeviceOptionsOf<B>& device = {}, O observer = {}) noexcept {
    if (const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(memory.data()) % kMemoryAlignment; past != 0)
      return fail(Errc::invalid_argument, "the model's memory begins ", past, " bytes past a multiple of ",
                  kMemoryAlignment, ", expected a multiple: weights are used where they lie");
    return open_file(ModelLoader<B, Families>::open(memory, options.allocator), options, device, observer);
  }
  /// Opens a GGUF file through the host's reader; tensors are copied into memory of the allocator.
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

  /// Asks for the end of a request; its last call says FinishReason::cancelled. Any thread. Where the allocator
  /// has no memory for the note, the request runs on, and the host may ask again.
  void cancel(RequestId id) noexcept { core_->cancel(id); }

  /// Tokens of a running request that the model has read, prompt and generated ones: how far a long prompt is.
  /// 0 for a request that waits or has ended. From the thread that calls `step`.
  [[nodiscard]] std::uint32_t processed(RequestId id) noexcept { return core_->processed(id); }

  /// Runs one step over all running requests and calls `on_token(RequestId, const Token&) -> bool`
  /// for what they generated. Returns how many requests are left, queued ones included.
  ///
  /// A request whose data breaks an op's contract (its logits hold no number, say) ends alone as `failed`, with the
  /// error in its last Token; the others go on with the same bits as without it.
  /// Errors: the device's, and Errc::spec_violation where nothing tells whose data it was; all requests of the step
  /// then end as `failed`.
  template <class F> [[nodiscard]] Result<std::size_t> step([[maybe_unused]] F&& on_token) noexcept {
    static_assert(HearsTokensOfRequests<F>,
                  "zrt: the callable of step must be bool(zrt::RequestId, const zrt::Token&): "
                  "true goes on, false ends the request");
    if constexpr (HearsTokensOfRequests<F>)
      return core_->step(on_token);
    else
      return 0;
  }

  /// Feeds `tokens` from position 0 in an own slot and calls `on_logits(position, logits)` for each
  /// prompt position; then feeds `decode` one by one, as decode steps.
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

  /// Feeds `tokens` as `evaluate` does, then `steps` tokens of the caller's choice, as decode steps:
  /// `choose(position, logits) -> std::int32_t` says what follows `position`. Its answer counts from
  /// the last of `tokens` on; the answer to the last step is not fed.
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

  /// exp of the mean negative log-likelihood of a text's tokens, in windows of the context length that
  /// begin with BOS where the model does. Only the second half of a window is scored, so that every
  /// scored token has half a window before it: the way in which peers' figures are made. Sums in f64.
  [[nodiscard]] Result<double> perplexity(std::string_view text) noexcept { return core_->perplexity(text); }

  /// A running request's tokens and state, for `restore` in an engine of the same model, kv_type and act.
  [[nodiscard]] Result<Vector<std::byte>> save(RequestId id) noexcept { return core_->save(id); }
  /// Continues a saved request as `request` says (its prompt is ignored): same bits and the same text as
  /// without the break, whatever was held back included. If it has `request.max_tokens` tokens already, the next
  /// step ends it with FinishReason::length and gives out what was held back.
  ///
  /// The bytes may come from anywhere. Errors: Errc::invalid_file or truncated_file for what is damaged or no
  /// snapshot; Errc::unsupported_version for one of another version; Errc::dtype_mismatch or invalid_argument, saying
  /// what is expected and found, for one of another model, kv_type or act; Errc::capacity_exceeded when no slot is free; those of
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

  // Defined outside the class, so that it is not inline and `extern template` keeps all that opening a
  // model instantiates out of a host's other translation units.
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
