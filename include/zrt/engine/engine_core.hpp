// SPDX-License-Identifier: Apache-2.0
// zrt/engine/engine_core.hpp: the inside of an engine: the loop that carries requests from step to step.
#pragma once

#include <zrt/core/rounding_mode.hpp>
#include <zrt/engine/admission.hpp>
#include <zrt/engine/callables.hpp>
#include <zrt/engine/check_engine.hpp>
#include <zrt/engine/choose_within.hpp>
#include <zrt/engine/delivery.hpp>
#include <zrt/engine/embedder.hpp>
#include <zrt/engine/evaluation.hpp>
#include <zrt/engine/log_probabilities.hpp>
#include <zrt/engine/mailbox.hpp>
#include <zrt/engine/one_call.hpp>
#include <zrt/engine/open_model.hpp>
#include <zrt/engine/snapshot.hpp>
#include <zrt/exec/run_observer.hpp>
#include <zrt/serve/batch_planner.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Everything an engine owns, at one address. See Engine for what the calls promise.
///
/// A request goes from the mailbox (mailbox.hpp) to a slot (admission.hpp); each step plans one batch,
/// runs it and hands every sampled token to its request (delivery.hpp), until one ends it.
///
/// Host callables come without their types, so that all of this is compiled once per backend.
template <class B, class Families, class O> class EngineCore {
  using Catalog = ModelOps<B, FamiliesOn<B, Families>>;

 public:
  EngineCore(model::GgufFile file, const EngineOptions& options, const DeviceOptionsOf<B>& device, O observer) noexcept
      : model_(std::move(file), options, device, observer),
        mailbox_(options.allocator),
        admission_(options.allocator),
        cancelled_(options.allocator),
        faults_(options.allocator),
        logits_(options.allocator),
        candidates_(options.allocator),
        bytes_(options.allocator) {}

  /// Opens the model and makes room for its requests.
  [[nodiscard]] Result<void> load() noexcept {
    const RoundingMode rounding;
    if (auto r = model_.load(); !r) return r;
    const EngineOptions& o = model_.options();
    if (auto r = admission_.open(model_.executor(), model_.context(), o.allocator); !r) return r;
    const exec::ExecutorSizes& sizes = model_.executor().sizes();
    auto planner = serve::BatchPlanner::make({sizes.slots, sizes.prefill_tokens - sizes.slots, sizes.prefill_rows,
                                              o.penalty_window, o.bias_entries, given_width()},
                                             o.allocator);
    if (!planner) return pass(planner);
    planner_.emplace(std::move(*planner));
    auto faults = exec::SlotFaults::make(sizes.slots, o.allocator);
    if (!faults) return pass(faults);
    faults_ = std::move(*faults);
    if (auto r = mailbox_.reserve(16); !r) return r;
    if (auto r = cancelled_.reserve(16); !r) return r;
    if (auto r = logits_.resize(model_.config().vocabulary); !r) return r;
    gives_logits_ = model_.plan().plan.output(exec::port::kLogits) != plan::kNoRegister;
    model_.log_opened();
    return {};
  }

  [[nodiscard]] const OpenModel<B, Families, Catalog, O>& model() const noexcept { return model_; }
  [[nodiscard]] OpenModel<B, Families, Catalog, O>& model() noexcept { return model_; }

  // --- requests, from any thread ---------------------------------------------------------------------

  [[nodiscard]] Result<RequestId> submit(const Request& request) noexcept {
    auto active = make_request(request);
    if (!active) return pass(active);
    return mailbox_.post(std::move(*active));
  }

  void cancel(RequestId id) noexcept { mailbox_.cancel(id); }

  // --- steps -----------------------------------------------------------------------------------------

  /// Whether any request runs or waits; notes of cancellation do not count.
  [[nodiscard]] bool has_requests() noexcept { return admission_.left() != 0 || mailbox_.has_requests(); }

  [[nodiscard]] Result<std::size_t> step(const OnToken& on_token) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    [[maybe_unused]] const std::size_t known = admission_.waiting().size();
    if (auto r = mailbox_.collect(admission_.waiting(), cancelled_); !r) return pass(r);
    if constexpr (exec::WatchesRequests<O> || exec::WatchesRuns<O>)
      for (std::size_t i = known; i < admission_.waiting().size(); ++i) {
        show_taken(*admission_.waiting()[i]);
        show(*admission_.waiting()[i], exec::RequestPhase::queued);
      }
    for (const RequestId id : cancelled_) end_cancelled(id, on_token);
    if (auto r = admission_.admit(); !r) return pass(r);
    if (admission_.running() != 0)
      if (auto r = run_step(on_token, exec::StopPoll{}); !r) return pass(r);
    return admission_.left();
  }

  /// Runs one request in a free slot to its end, without the queue.
  [[nodiscard]] Result<Completion> generate(const Request& request, const OnToken& on_token,
                                            const exec::StopPoll& stop) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    auto active = make_request(request);
    if (!active) return pass(active);
    auto slot = admission_.start(*active);
    if (!slot) return pass(slot);
    if (*slot == Admission<B>::kNoSlot) return fail(Errc::capacity_exceeded, "no slot is free");
    show_taken(*admission_.active()[*slot]);
    while (admission_.active()[*slot])
      if (auto r = run_step(on_token, stop); !r) return pass(r);
    if (last_completion_.finish == FinishReason::failed) return std::unexpected<Error>(last_error_);
    return last_completion_;
  }

  [[nodiscard]] std::uint32_t processed(RequestId id) noexcept {
    const Owned<ActiveRequest>* running = find_running(id);
    return running != nullptr ? (*running)->sequence.processed : 0;
  }

  // --- a running request as bytes --------------------------------------------------------------------

  [[nodiscard]] Result<Vector<std::byte>> save(RequestId id) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    const Owned<ActiveRequest>* running = find_running(id);
    if (running == nullptr) return fail(Errc::not_found, "no running request has id ", static_cast<std::uint64_t>(id));
    const serve::Sequence& sequence = (*running)->sequence;
    if (!sequence.given.empty() && sequence.processed < sequence.given.back().first + sequence.given.back().rows)
      return fail(Errc::invalid_state,
                  "the request's prompt has embeddings that were not read yet, which no snapshot holds");
    auto identity = model_.identity();
    if (!identity) return pass(identity);
    return save_snapshot(admission_.slots(), (*running)->sequence, (*running)->stops.held().size(), *identity,
                         model_.options().allocator);
  }

  [[nodiscard]] Result<RequestId> restore(Span<const std::byte> bytes, const Request& request) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    const Allocator& allocator = model_.options().allocator;
    auto identity = model_.identity();
    if (!identity) return pass(identity);
    auto snapshot = read_snapshot(bytes, *identity, allocator);
    if (!snapshot) return pass(snapshot);
    const std::uint64_t state = admission_.slots().snapshot_bytes(snapshot->processed);
    if (snapshot->state.size() != state)
      return fail(Errc::invalid_file, "the snapshot holds ", snapshot->state.size(), " bytes of state, expected ",
                  state);
    if (request.grammar != nullptr) return fail(Errc::unimplemented, "a restored request takes no grammar");
    auto made = make_request(request, snapshot->tokens.span());
    if (!made) return pass(made);
    ActiveRequest& active = **made;
    active.sequence.prompt_tokens = snapshot->prompt_tokens;
    active.sequence.processed = snapshot->processed;
    active.generated = static_cast<std::uint32_t>(snapshot->tokens.size()) - snapshot->prompt_tokens;
    if (auto r = replay_text(active, snapshot->held, allocator); !r) return pass(r);
    const RequestId id = active.id;
    if (auto r = admission_.resume(*made, snapshot->state); !r) return pass(r);
    show_taken(*find_running(id)->get());
    return id;
  }

  // --- logits without requests -----------------------------------------------------------------------

  [[nodiscard]] Result<void> evaluate(Span<const std::int32_t> tokens, std::size_t steps,
                                      const ChooseToken& choose) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (!gives_logits_) return no_logits();
    return evaluation().run(tokens, steps, choose);
  }

  [[nodiscard]] Result<double> perplexity(std::string_view text) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    const RoundingMode rounding;
    const text::Tokenizer* tokenizer = model_.tokenizer();
    if (tokenizer == nullptr) return fail(Errc::unsupported_tokenizer, "the model has no vocabulary");
    if (!gives_logits_) return no_logits();
    return evaluation().perplexity(*tokenizer, text);
  }

  // --- embeddings ------------------------------------------------------------------------------------

  [[nodiscard]] Result<Embeddings> embed(Span<const EmbedInput> inputs, const EmbedOptions& options,
                                         const exec::StopPoll& stop) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    const RoundingMode rounding;
    return Embedder<B, O>({model_.executor(), admission_.slots(), *planner_, model_.tokenizer(), model_.config(),
                           model_.context(), model_.options().allocator})
        .run(inputs, options, stop);
  }

 private:
  [[nodiscard]] static std::unexpected<Error> no_logits() noexcept {
    return fail(Errc::invalid_argument, "the model gives embeddings, no tokens; call embed");
  }

  [[nodiscard]] Evaluation<B, O> evaluation() noexcept {
    return {model_.executor(), admission_.slots(), *planner_,
            logits_.span(),    model_.context(),   model_.options().allocator};
  }

  [[nodiscard]] Result<Owned<ActiveRequest>> make_request(const Request& request) noexcept {
    if (!gives_logits_) return no_logits();
    if (exec::WatchesRuns<O> && !request.embeddings.empty())
      return fail(Errc::unimplemented, "a recording of a run holds no embeddings");
    if (exec::WatchesRuns<O> && request.grammar != nullptr)
      return fail(Errc::unimplemented, "a recording of a run holds no grammar");
    const RoundingMode rounding;  // merges compare scores, and a request's numbers are compared
    if (!request.tokens.empty()) return make_request(request, request.tokens);
    const text::Tokenizer* tokenizer = model_.tokenizer();
    if (tokenizer == nullptr)
      return fail(Errc::unsupported_tokenizer, "the model has no vocabulary; give the prompt as tokens");
    auto prompt = tokenizer->encode(request.prompt, {.add_special = true, .parse_special = request.parse_special});
    if (!prompt) return pass(prompt);
    return make_request(request, prompt->span());
  }

  [[nodiscard]] Result<Owned<ActiveRequest>> make_request(const Request& request,
                                                          Span<const std::int32_t> tokens) noexcept {
    return make_active(request, mailbox_.next_id(), tokens, model_.config().vocabulary, model_.context(),
                       model_.options(), model_.tokenizer(), model_.longest_token(), given_width());
  }
  /// Of embeddings in prompts; 0: the engine takes none.
  [[nodiscard]] std::uint32_t given_width() const noexcept {
    return model_.options().given_embeddings ? model_.config().width : 0;
  }

  /// One step over all running requests.
  [[nodiscard]] Result<void> run_step(const OnToken& on_token, const exec::StopPoll& stop) noexcept {
    if (stop()) {
      finish_all(FinishReason::cancelled, on_token);
      return {};
    }
    finish_those_at_their_limit(on_token);
    if (admission_.running() == 0) return {};
    show_slots();
    const exec::Batch batch = plan_batch();
    const ClockHook& clock = model_.options().clock;
    const std::uint64_t began = batch.prefill ? clock() : 0;
    // Only a step of a single request may stop halfway.
    auto completed = run_batch(batch, admission_.running() == 1 ? stop : exec::StopPoll{});
    if (batch.prefill && completed && *completed) planner_->took(clock() - began);
    if (!completed || !*completed) show_stepped(false);
    if (!completed) {
      model_.options().log(LogLevel::error, completed.error().text());
      last_error_ = completed.error();
      finish_all(FinishReason::failed, on_token);
      return pass(completed);
    }
    if (!*completed) return run_step(on_token, stop);  // the poll still says stop: the request ends as cancelled
    finish_those_at_fault(on_token);
    const auto origins = planner_->origins();
    Result<void> taken{};
    // A failing request must not cost others their tokens: all rows are taken before the error is returned.
    for (std::size_t row = 0; row < origins.size(); ++row) {
      const std::size_t index = origins[row].sequence;
      if (!admission_.active()[index]) continue;
      if (auto r = take_token(index, row, on_token); !r) {
        fail_request(index, r.error(), on_token);
        if (taken) taken = r;
      }
    }
    show_stepped(true);
    return taken;
  }

  [[nodiscard]] Result<bool> run_batch(const exec::Batch& batch, const exec::StopPoll& stop) noexcept {
    if (auto r = admission_.slots().advance(batch); !r) return pass(r);
    return model_.executor().step(batch, stop, &faults_);
  }

  /// Hands the token of `row` to its request and ends the request if that was its last.
  [[nodiscard]] Result<void> take_token(std::size_t index, std::size_t row, const OnToken& on_token) noexcept {
    ActiveRequest& a = *admission_.active()[index];
    std::int32_t id = kNoToken;
    const auto token_bytes = as_writable_bytes(Span(&id, 1));
    if (auto r = model_.executor().read(exec::port::kToken, row * sizeof id, token_bytes); !r) return r;
    if (id < 0) {
      fail_request(index, Error::of(Errc::spec_violation, "the sampler chose no token"), on_token);
      return {};
    }
    if (exec::WatchesRuns<O> || !a.best.empty() || a.matcher) {
      const std::uint64_t offset = std::uint64_t{row} * logits_.size() * sizeof(float);
      const auto row_bytes = as_writable_bytes(logits_.span());
      if (auto r = model_.executor().read(exec::port::kLogits, offset, row_bytes); !r) return r;
      if constexpr (exec::WatchesRuns<O>)
        model_.observer().sampled(static_cast<std::uint32_t>(row), id, logits_.span());
      const RoundingMode rounding;
      if (!a.best.empty()) log_probabilities(logits_.span(), a.best.span());
    }
    if (a.matcher) {
      auto chosen = choose_within_grammar(a);
      if (!chosen) {
        fail_request(index, chosen.error(), on_token);
        return {};
      }
      id = *chosen;
      if (id == kNoToken) {
        finish(index, FinishReason::stop_token, on_token);
        return {};
      }
    }
    auto delivery = deliver(a, id, model_.tokenizer(), model_.context());
    if (!delivery) return pass(delivery);
    if (!on_token(a.id, delivery->token))
      finish(index, FinishReason::callback, on_token);
    else if (delivery->finish != FinishReason::none)
      finish(index, delivery->finish, on_token);
    return {};
  }

  /// Chooses from the row in `logits_`.
  [[nodiscard]] Result<std::int32_t> choose_within_grammar(ActiveRequest& a) noexcept {
    const RoundingMode rounding;
    if (auto r = candidates_.resize(logits_.size()); !r) return pass(r);
    return choose_within(a, *model_.tokenizer(), logits_.span(), candidates_.span(), bytes_);
  }

  /// The request in its slot, or null.
  [[nodiscard]] const Owned<ActiveRequest>* find_running(RequestId id) noexcept {
    for (const Owned<ActiveRequest>& active : admission_.active())
      if (active && active->id == id) return &active;
    return nullptr;
  }

  // --- what an observer sees of requests; nothing without one -------------------------------------------

  void show([[maybe_unused]] const ActiveRequest& a, [[maybe_unused]] exec::RequestPhase phase,
            [[maybe_unused]] std::string_view finish = {}) const noexcept {
    if constexpr (exec::WatchesRequests<O>) {
      const serve::Sequence& s = a.sequence;
      const std::uint32_t slot = phase == exec::RequestPhase::queued ? exec::ObservedRequest::kNoSlot : s.slot;
      model_.observer().request(
          {static_cast<std::uint64_t>(a.id), phase, slot, s.prompt_tokens, s.processed, a.generated, finish});
    }
  }
  void show_slots() noexcept {
    if constexpr (exec::WatchesRequests<O>) {
      for (const Owned<ActiveRequest>& active : admission_.active())
        if (active)
          show(*active, active->sequence.prompt_left() != 0 ? exec::RequestPhase::prefill : exec::RequestPhase::decode);
      const exec::ExecutorSizes& sizes = model_.executor().sizes();
      const auto running = static_cast<std::uint32_t>(admission_.running());
      const auto waiting = static_cast<std::uint32_t>(admission_.waiting().size());
      const serve::SlotTable<B>& slots = admission_.slots();
      model_.observer().load({running, waiting, sizes.slots, slots.used_pages(), slots.all_pages()});
    }
  }

  void show_taken([[maybe_unused]] const ActiveRequest& a) const noexcept {
    if constexpr (exec::WatchesRuns<O>) {
      const serve::Sequence& s = a.sequence;
      exec::TakenRequest taken{.id = static_cast<std::uint64_t>(a.id),
                               .prompt = s.tokens.span().first(s.prompt_tokens),
                               .sampling = s.sampling,
                               .bias = s.biases.span(),
                               .stop_tokens = a.stop_tokens,
                               .stop_strings = a.stops.strings()};
      taken.max_tokens = a.max_tokens;
      taken.log_probabilities = static_cast<std::uint32_t>(a.best.size());
      taken.ignore_eos = a.ignore_eos;
      taken.restored = s.processed != 0;
      taken.step_latency_ns = s.step_latency_ns;
      model_.observer().taken(taken);
    }
  }
  void show_ended([[maybe_unused]] RequestId id, [[maybe_unused]] FinishReason reason) const noexcept {
    if constexpr (exec::WatchesRuns<O>) {
      if (reason == FinishReason::cancelled)
        model_.observer().ended(static_cast<std::uint64_t>(id), exec::EndedBy::cancel);
      if (reason == FinishReason::callback)
        model_.observer().ended(static_cast<std::uint64_t>(id), exec::EndedBy::callable);
    }
  }
  void show_stepped([[maybe_unused]] bool completed) const noexcept {
    if constexpr (exec::WatchesRuns<O>) model_.observer().stepped(completed);
  }
  [[nodiscard]] exec::Batch plan_batch() noexcept {
    const auto plan = [&] {
      if constexpr (exec::DictatesCuts<O>)
        if (const Span<const std::uint32_t> cuts = model_.observer().cuts(); !cuts.empty())
          return planner_->plan(admission_.sequences(), admission_.slots().pages(), cuts);
      return planner_->plan(admission_.sequences(), admission_.slots().pages());
    };
    const exec::Batch batch = plan();
    if constexpr (exec::WatchesRuns<O>) model_.observer().planned(batch);
    return batch;
  }

  void finish(std::size_t index, FinishReason reason, const OnToken& on_token) noexcept {
    const Owned<ActiveRequest> ended = admission_.end(index);
    show_ended(ended->id, reason);
    last_completion_ = {reason, ended->sequence.prompt_tokens, ended->generated};
    show(*ended, exec::RequestPhase::ended, name(reason));
    // A callable that returned false is not called again.
    if (reason == FinishReason::callback) return;
    Token last{.text = last_text(*ended), .finish = reason};
    if (reason == FinishReason::failed) last.error = &last_error_;
    (void)on_token(ended->id, last);
  }

  /// Ends a request with its own error; other requests are not affected.
  void fail_request(std::size_t index, const Error& error, const OnToken& on_token) noexcept {
    model_.options().log(LogLevel::error, error.text());
    last_error_ = error;
    finish(index, FinishReason::failed, on_token);
  }

  /// Ends the requests whose data broke an op's contract in the last step.
  void finish_those_at_fault(const OnToken& on_token) noexcept {
    for (std::size_t i = 0; i < admission_.active().size(); ++i) {
      if (!admission_.active()[i]) continue;
      if (auto fault = faults_.of(static_cast<std::uint32_t>(i), model_.plan().plan, &model_.op_rows()); !fault)
        fail_request(i, fault.error(), on_token);
    }
  }

  void finish_all(FinishReason reason, const OnToken& on_token) noexcept {
    for (std::size_t i = 0; i < admission_.active().size(); ++i)
      if (admission_.active()[i]) finish(i, reason, on_token);
  }

  /// Ends requests that may have no further token: those with max_tokens 0, and restored ones that already have
  /// max_tokens. All others end with their last token.
  void finish_those_at_their_limit(const OnToken& on_token) noexcept {
    for (std::size_t i = 0; i < admission_.active().size(); ++i)
      if (const auto& active = admission_.active()[i]; active && active->generated >= active->max_tokens)
        finish(i, FinishReason::length, on_token);
  }

  /// Ends a request in its slot or in the queue; it may have ended already.
  void end_cancelled(RequestId id, const OnToken& on_token) noexcept {
    if (const Owned<ActiveRequest>* running = find_running(id); running != nullptr)
      return finish(static_cast<std::size_t>(running - admission_.active().data()), FinishReason::cancelled, on_token);
    for (std::size_t i = 0; i < admission_.waiting().size(); ++i) {
      if (admission_.waiting()[i]->id != id) continue;
      show(*admission_.waiting()[i], exec::RequestPhase::ended, name(FinishReason::cancelled));
      show_ended(id, FinishReason::cancelled);
      (void)on_token(id, Token{.finish = FinishReason::cancelled});
      return admission_.remove_waiting(i);
    }
  }

  OpenModel<B, Families, Catalog, O> model_;
  Mailbox mailbox_;
  Admission<B> admission_;
  std::optional<serve::BatchPlanner> planner_;
  Vector<RequestId> cancelled_;        ///< notes of the step
  exec::SlotFaults faults_;            ///< of the step
  Vector<float> logits_;               ///< one row
  Vector<ops::Candidate> candidates_;  ///< as many, once a request has a grammar
  String bytes_;                       ///< of the token chosen last within a grammar
  Completion last_completion_{};
  Error last_error_{};  ///< of the request that failed last
  bool in_call_ = false;
  bool gives_logits_ = true;
};

}  // namespace zrt::inline ZRT_ABI::detail
