// SPDX-License-Identifier: Apache-2.0
// zrt/engine/engine_core.hpp: the inside of an engine: the loop that carries requests from step to step.
#pragma once

#include <zrt/core/rounding_mode.hpp>
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
#include <zrt/engine/serving.hpp>
#include <zrt/engine/snapshot.hpp>
#include <zrt/exec/run_observer.hpp>
#include <zrt/serve/batch_planner.hpp>
#include <zrt/serve/ngram_draft.hpp>
#include <zrt/serve/prefill_rate.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Everything an engine owns, at one address. See Engine for what the calls promise.
///
/// A request goes from the mailbox (mailbox.hpp) to the scheduler (serving.hpp). Each step the scheduler plans runs, and
/// one batch computes them; what was drawn goes to the scheduler as the outcome of its run, and comes back as an event:
/// a token for the request's callable (delivery.hpp), or its end.
///
/// Host callables come without their types, so that all of this is compiled once per backend.
template <class B, class Families, class O> class EngineCore {
  using Catalog = ModelOps<B, FamiliesOn<B, Families>>;

 public:
  EngineCore(model::GgufFile file, const EngineOptions& options, const DeviceOptionsOf<B>& device, O observer) noexcept
      : model_(std::move(file), options, device, observer),
        mailbox_(options.allocator),
        serving_(options.allocator),
        outcomes_(options.allocator),
        run_of_(options.allocator),
        drafts_(options.allocator),
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
    if (exec::WatchesRuns<O> &&
        (o.prefix_cache || o.pages != 0 || o.queue != EngineOptions{}.queue || o.draft_tokens != 0))
      return fail(Errc::unimplemented,
                  "a recording of a run holds no prefix_cache, pages, queue or draft_tokens of the host's");
    if (auto r = serving_.open(model_.executor(), model_.context(), o); !r) return r;
    const exec::ExecutorSizes& sizes = model_.executor().sizes();
    // The scheduler bounds a step: beside the floor its prompts may be more than a chunk of 16.
    auto planner =
        serve::BatchPlanner::make({sizes.slots, sizes.prefill_tokens, sizes.prefill_rows, o.penalty_window,
                                   o.bias_entries, given_width(), o.adapters != 0, model_.config().rope_axes},
                                  o.allocator);
    if (!planner) return pass(planner);
    planner_.emplace(std::move(*planner));
    auto faults = exec::SlotFaults::make(sizes.slots, o.allocator);
    if (!faults) return pass(faults);
    faults_ = std::move(*faults);
    if (auto r = outcomes_.resize(sizes.slots); !r) return r;
    if (auto r = run_of_.resize(sizes.slots); !r) return r;
    if (o.draft_tokens != 0)
      if (auto r = drafts_.resize(sizes.slots); !r) return r;
    if (auto r = mailbox_.reserve(serving_.scheduler().state().limits.tenants, serving_.most_unread()); !r) return r;
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
  [[nodiscard]] bool has_requests() noexcept { return serving_.left() != 0 || mailbox_.has_requests(); }

  [[nodiscard]] Result<std::size_t> step(const OnToken& on_token) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    const std::size_t known = serving_.arriving().size();
    if (auto r = mailbox_.collect(serving_.arriving(), cancelled_); !r) return pass(r);
    if constexpr (exec::WatchesRequests<O> || exec::WatchesRuns<O>)
      for (std::size_t i = known; i < serving_.arriving().size(); ++i) {
        show_taken(*serving_.arriving()[i]);
        show(*serving_.arriving()[i], exec::RequestPhase::queued);
      }
    const bool reads = !serving_.arriving().empty();
    place_adapters(known, on_token);
    for (const RequestId id : cancelled_) end_cancelled(id, on_token);
    Result<void> ran{};
    if (serving_.left() != 0) ran = run_step(on_token, exec::StopPoll{});
    if (reads) mailbox_.note_unread(serving_.arriving().span());
    if (!ran) return pass(ran);
    return serving_.left();
  }

  /// Runs one request in a free slot to its end, without the queue.
  [[nodiscard]] Result<Completion> generate(const Request& request, const OnToken& on_token,
                                            const exec::StopPoll& stop) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    auto active = make_request(request);
    if (!active) return pass(active);
    const auto& state = serving_.scheduler().state();
    if (state.queued != 0 || serving_.scheduler().free_slot() == serve::kNone)
      return fail(Errc::capacity_exceeded, "no slot is free");
    if (auto r = place_adapter(**active); !r) return pass(r);
    const RequestId id = (*active)->id;
    if (auto r = serving_.arriving().push_back(std::move(*active)); !r) return pass(r);
    show_taken(*serving_.arriving().back());
    if (auto r = run_step(on_token, stop); !r) return pass(r);
    if (ActiveRequest* a = find(id); a != nullptr && waits(*a)) return leave_queue(*a, on_token);
    while (find(id) != nullptr) {
      rest();
      if (auto r = run_step(on_token, stop); !r) return pass(r);
    }
    if (last_completion_.finish == FinishReason::failed) return std::unexpected<Error>(last_error_);
    return last_completion_;
  }

  [[nodiscard]] std::uint32_t processed(RequestId id) noexcept {
    const ActiveRequest* running = find_running(id);
    return running != nullptr ? running->sequence.processed : 0;
  }

  [[nodiscard]] std::uint64_t idle_ns() noexcept {
    if (mailbox_.has_mail() || !serving_.arriving().empty() || has_untold_end()) return 0;
    if (serving_.left() == 0) return kUntilSubmit;
    return serving_.scheduler().idle(serving_.has_tenants() ? model_.options().clock() : 0);
  }

  // --- tenants ---------------------------------------------------------------------------------------

  [[nodiscard]] Result<TenantId> create_tenant(const TenantQuota& quota) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (exec::WatchesRuns<O>) return fail(Errc::unimplemented, "a recording of a run holds no tenants");
    if (model_.options().clock.now == nullptr)
      return fail(Errc::invalid_argument, "a tenant's quota needs a clock; the engine has none");
    auto made = serving_.create(quota);
    if (made) mailbox_.admit(*made);
    return made;
  }
  [[nodiscard]] Result<void> change_tenant(TenantId tenant, const TenantQuota& quota) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    return serving_.change(tenant, quota);
  }
  [[nodiscard]] Result<void> remove_tenant(TenantId tenant) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    auto removed = serving_.remove(tenant);
    if (removed) mailbox_.forget(tenant);
    return removed;
  }
  [[nodiscard]] Result<TenantLedger> usage(TenantId tenant) noexcept {
    const TenantLedger* ledger = serving_.scheduler().ledger(serving_.handle(tenant));
    if (ledger == nullptr) return fail(Errc::not_found, "no tenant has id ", static_cast<std::uint64_t>(tenant));
    return *ledger;
  }

  // --- adapters --------------------------------------------------------------------------------------

  [[nodiscard]] Result<AdapterId> load_adapter(const model::GgufFile& file, float scale) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    const RoundingMode rounding;
    return model_.adapters().load(file, model_.file(), scale);
  }
  [[nodiscard]] Result<void> unload_adapter(AdapterId id) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (id == AdapterId{}) return fail(Errc::not_found, "no adapter has id 0");
    for (Span<Owned<ActiveRequest>> all : {serving_.arriving().span(), serving_.requests()})
      for (const Owned<ActiveRequest>& a : all)
        if (a && a->adapter == id)
          return fail(Errc::invalid_state, "request ", static_cast<std::uint64_t>(a->id), " runs with adapter ",
                      static_cast<std::uint32_t>(id), ", expected none that does");
    return model_.adapters().unload(id);
  }

  // --- a running request as bytes --------------------------------------------------------------------

  [[nodiscard]] Result<Vector<std::byte>> save(RequestId id) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    const ActiveRequest* running = find_running(id);
    if (running == nullptr) return fail(Errc::not_found, "no running request has id ", static_cast<std::uint64_t>(id));
    const serve::Sequence& sequence = running->sequence;
    if (!sequence.given.empty() && sequence.processed < sequence.given.back().first + sequence.given.back().rows)
      return fail(Errc::invalid_state,
                  "the request's prompt has embeddings that were not read yet, which no snapshot holds");
    if (!sequence.places.empty())
      return fail(Errc::unimplemented, "the request's prompt has rows of images, whose places no snapshot holds");
    auto identity = model_.identity(sequence.adapter);
    if (!identity) return pass(identity);
    if (auto r = serving_.bring(sequence.slot); !r) return pass(r);
    return save_snapshot(serving_.slots(), sequence, running->stops.held().size(), *identity,
                         model_.options().allocator);
  }

  [[nodiscard]] Result<RequestId> restore(Span<const std::byte> bytes, const Request& request) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (has_untold_end())
      return fail(Errc::invalid_state, "requests have ended since the last step; expected a step, which tells of them");
    const Allocator& allocator = model_.options().allocator;
    const auto adapter = model_.adapters().row_of(request.adapter);
    if (!adapter) return pass(adapter);
    auto identity = model_.identity(*adapter);
    if (!identity) return pass(identity);
    auto snapshot = read_snapshot(bytes, *identity, allocator);
    if (!snapshot) return pass(snapshot);
    const std::uint64_t state = serving_.slots().snapshot_bytes(snapshot->processed);
    if (snapshot->state.size() != state)
      return fail(Errc::invalid_file, "the snapshot holds ", snapshot->state.size(), " bytes of state, expected ",
                  state);
    if (request.grammar != nullptr) return fail(Errc::unimplemented, "a restored request takes no grammar");
    if (request.tenant != TenantId{}) return fail(Errc::unimplemented, "a restored request is the host's");
    auto made = make_request(request, snapshot->tokens.span());
    if (!made) return pass(made);
    ActiveRequest& active = **made;
    active.sequence.adapter = *adapter;
    active.sequence.prompt_tokens = snapshot->prompt_tokens;
    active.sequence.processed = snapshot->processed;
    active.generated = static_cast<std::uint32_t>(snapshot->tokens.size()) - snapshot->prompt_tokens;
    if (auto r = replay_text(active, snapshot->held, allocator); !r) return pass(r);
    const RequestId id = active.id;
    show_taken(active);
    if (active.generated >= active.max_tokens) {
      if (auto r = serving_.arriving().push_back(std::move(*made)); !r) return pass(r);
      return id;
    }
    if (auto r = serving_.resume(*made, snapshot->state); !r) {
      if (ActiveRequest* begun = find_running(id); begun != nullptr) {
        begun->silent = true;
        cancel_now(*begun);
      }
      return pass(r);
    }
    return id;
  }

  // --- logits without requests -----------------------------------------------------------------------

  [[nodiscard]] Result<void> evaluate(Span<const std::int32_t> tokens, std::size_t steps, const ChooseToken& choose,
                                      AdapterId id) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (!gives_logits_) return no_logits();
    const auto adapter = model_.adapters().row_of(id);
    if (!adapter) return pass(adapter);
    return evaluation().run(tokens, steps, choose, *adapter);
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
    return Embedder<B, O>({model_.executor(), serving_, *planner_, model_.tokenizer(), model_.config(),
                           model_.context(), model_.options().allocator})
        .run(inputs, options, stop);
  }

 private:
  /// Waits where a step would find nothing to do, but no longer than a stop may take.
  void rest() noexcept {
    constexpr std::uint64_t kLongest = 1'000'000;
    const std::uint64_t idle = serving_.has_tenants() ? idle_ns() : 0;
    if (idle != 0) model_.options().wait(idle < kLongest ? idle : kLongest);
  }

  [[nodiscard]] static std::unexpected<Error> no_logits() noexcept {
    return fail(Errc::invalid_argument, "the model gives embeddings, no tokens; call embed");
  }

  [[nodiscard]] Evaluation<B, O> evaluation() noexcept {
    return {model_.executor(), serving_, *planner_, logits_.span(), model_.context(), model_.options().allocator};
  }

  [[nodiscard]] Result<Owned<ActiveRequest>> make_request(const Request& request) noexcept {
    if (!gives_logits_) return no_logits();
    if (exec::WatchesRuns<O> && !request.embeddings.empty())
      return fail(Errc::unimplemented, "a recording of a run holds no embeddings");
    if (exec::WatchesRuns<O> && request.adapter != AdapterId{})
      return fail(Errc::unimplemented, "a recording of a run holds no adapters");
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
                       model_.options(), model_.tokenizer(), model_.longest_token(), given_width(),
                       model_.config().rope_axes);
  }
  /// Of embeddings in prompts; 0: the engine takes none.
  [[nodiscard]] std::uint32_t given_width() const noexcept {
    return model_.options().given_embeddings ? model_.config().given_width() : 0;
  }

  /// Finds the place of a request's adapter. Errors: Errc::not_found.
  [[nodiscard]] Result<void> place_adapter(ActiveRequest& a) noexcept {
    const auto row = model_.adapters().row_of(a.adapter);
    if (!row) return pass(row);
    a.sequence.adapter = *row;
    return {};
  }
  /// The same for those that arrived since there were `known`. A request whose adapter is not loaded ends.
  void place_adapters(std::size_t known, const OnToken& on_token) noexcept {
    for (std::size_t i = known; i < serving_.arriving().size();) {
      const Result<void> placed = place_adapter(*serving_.arriving()[i]);
      if (placed) {
        ++i;
        continue;
      }
      serving_.arriving()[i]->error = placed.error();
      end(take_arriving(i, FinishReason::failed), on_token);
    }
  }

  /// One step over all requests.
  [[nodiscard]] Result<void> run_step(const OnToken& on_token, const exec::StopPoll& stop) noexcept {
    if (stop()) {
      cancel_running(on_token);
      return {};
    }
    finish_those_at_their_limit(on_token);
    tell(on_token);
    const serve::StepPlan plan = plan_step();
    tell(on_token);
    if (plan.runs.empty()) return {};
    for (std::size_t i = 0; i < plan.runs.size(); ++i) run_of_[plan.runs[i].slot] = static_cast<std::uint32_t>(i);
    // Only a step of a single request may stop halfway.
    auto completed = run_batch(plan, serving_.running() == 1 ? stop : exec::StopPoll{});
    if (!completed || !*completed) return give_up(plan, completed, on_token, stop);
    const Result<void> taken = take_outcomes(plan);
    serving_.scheduler().settle(outcomes_.span().first(plan.runs.size()));
    serving_.audit();
    tell(on_token);
    show_stepped(true);
    return taken;
  }

  [[nodiscard]] serve::StepPlan plan_step() noexcept {
    seen_ = 0;
    Span<const std::uint32_t> cuts{};
    if constexpr (exec::DictatesCuts<O>) cuts = model_.observer().cuts();
    const std::uint64_t now = serving_.has_tenants() ? model_.options().clock() : 0;
    return serving_.plan(now, cuts.empty() ? prompt_room() : ~0u, cuts, draft());
  }

  /// Guesses the next tokens of the slots that decode, which share the step's drafts.
  [[nodiscard]] Span<const serve::Draft> draft() noexcept {
    const Span<const serve::SlotRow> slots = serving_.scheduler().state().slots.span();
    std::uint32_t decoding = 0;
    for (const serve::SlotRow& row : slots) decoding += row.stage == serve::SlotStage::decode ? 1u : 0u;
    const std::uint32_t share = decoding == 0 ? 0 : model_.options().draft_tokens / decoding;
    for (std::uint32_t slot = 0; slot < drafts_.size(); ++slot) {
      drafts_[slot] = {};
      if (slots[slot].stage == serve::SlotStage::decode) drafts_[slot] = draft(*serving_.in_slot(slot), share);
    }
    return drafts_.span();
  }
  /// A request with log-probabilities gets one token a step: they are of one row.
  [[nodiscard]] static serve::Draft draft(ActiveRequest& a, std::uint32_t most) noexcept {
    if (most == 0 || !a.best.empty()) return {};
    const std::uint32_t length = a.draft_length.next();
    const auto found = serve::ngram_draft(a.sequence.tokens.span(), length < most ? length : most);
    return {found.data(), static_cast<std::uint32_t>(found.size())};
  }

  /// Prompt tokens that keep the step within the strictest latency of the requests at hand, at the rate measured so far.
  [[nodiscard]] std::uint32_t prompt_room() noexcept {
    const std::uint32_t chunk = model_.executor().sizes().prefill_tokens - model_.executor().sizes().slots;
    std::uint64_t latency = 0;
    std::uint32_t decoding = 0;
    const auto strictest = [&](const ActiveRequest& a) {
      const std::uint64_t own = a.sequence.step_latency_ns;
      if (own != 0 && (latency == 0 || own < latency)) latency = own;
    };
    for (std::uint32_t slot = 0; slot < serving_.slot_count(); ++slot) {
      const ActiveRequest* a = serving_.in_slot(slot);
      if (a == nullptr) continue;
      strictest(*a);
      decoding += serving_.scheduler().state().slots[slot].stage == serve::SlotStage::decode ? 1u : 0u;
    }
    for (const Owned<ActiveRequest>& a : serving_.arriving()) strictest(*a);
    if (latency == 0) return chunk;
    if (!rate_.known()) return kPageTokens;
    const std::uint64_t within = rate_.tokens_within(latency);
    const std::uint64_t left = within < decoding ? 0 : within - decoding;
    const std::uint64_t timely = left < kPageTokens ? left : left / kPageTokens * kPageTokens;
    return timely < chunk ? static_cast<std::uint32_t>(timely) : chunk;
  }

  [[nodiscard]] static bool reads_prompt(const serve::StepPlan& plan) noexcept {
    for (const serve::PlannedRun& run : plan.runs)
      if (!run.decode) return true;
    return false;
  }

  /// False where `stop` ended it halfway.
  [[nodiscard]] Result<bool> run_batch(const serve::StepPlan& plan, const exec::StopPoll& stop) noexcept {
    if (auto r = serving_.follow(plan); !r) return pass(r);
    show_slots();
    const exec::Batch batch = planner_->plan(serving_.sequences(), serving_.pages(), serving_.cuts());
    if constexpr (exec::WatchesRuns<O>) model_.observer().planned(batch);
    const ClockHook& clock = model_.options().clock;
    const bool times = reads_prompt(plan);
    const std::uint64_t began = times ? clock() : 0;
    if (auto r = serving_.advance(batch); !r) return pass(r);
    auto completed = model_.executor().step(batch, stop, &faults_);
    if (times && completed && *completed) rate_.learn(static_cast<std::uint32_t>(batch.tokens.size()), clock() - began);
    return completed;
  }

  /// Ends the requests of a step that did not run to its end: it failed, or the host stopped it.
  [[nodiscard]] Result<void> give_up(const serve::StepPlan& plan, const Result<bool>& completed,
                                     const OnToken& on_token, const exec::StopPoll& stop) noexcept {
    show_stepped(false);
    if (!completed) model_.options().log(LogLevel::error, completed.error().text());
    for (const serve::PlannedRun& run : plan.runs) {
      ActiveRequest& a = *serving_.request(run.request);
      a.finish = completed ? FinishReason::cancelled : FinishReason::failed;
      if (!completed) a.error = completed.error();
    }
    serving_.scheduler().settle({});
    tell(on_token);
    if (!completed) return std::unexpected<Error>(completed.error());
    return run_step(on_token, stop);  // the poll still says stop
  }

  /// Notes what came of each run. A failing request must not cost others their tokens: all are noted before the error is
  /// returned.
  [[nodiscard]] Result<void> take_outcomes(const serve::StepPlan& plan) noexcept {
    for (std::size_t i = 0; i < plan.runs.size(); ++i) outcomes_[i] = check_run(plan.runs[i]);
    Result<void> taken{};
    const auto origins = planner_->origins();
    for (std::size_t row = 0; row < origins.size(); ++row) {
      const std::uint32_t index = run_of_[origins[row].sequence];
      const serve::PlannedRun& run = plan.runs[index];
      serve::Outcome& outcome = outcomes_[index];
      // A row behind a draft that the sampler did not draw is of another text.
      const std::uint32_t at = run.count - run.drafts - 1 + outcome.accepted;
      if (outcome.failed || outcome.again || origins[row].position != run.begin + at) continue;
      const bool guesses = outcome.accepted < run.drafts;
      const std::uint32_t guess = guesses ? run.tokens[at + 1] : 0;
      ActiveRequest& a = *serving_.request(run.request);
      if (auto r = take_token(a, row, outcome); !r) {
        fail_run(a, r.error(), outcome);
        if (taken) taken = r;
      }
      const bool goes_on = !outcome.failed && !outcome.last && !outcome.empty;
      if (guesses && goes_on && outcome.token == guess) ++outcome.accepted;
    }
    for (std::size_t i = 0; i < plan.runs.size(); ++i)
      if (plan.runs[i].drafts != 0) take_drafts(plan.runs[i], outcomes_[i]);
    return taken;
  }
  /// Takes a sequence back behind the drafts that are its tokens.
  void take_drafts(const serve::PlannedRun& run, const serve::Outcome& outcome) noexcept {
    ActiveRequest& a = *serving_.request(run.request);
    a.sequence.processed = outcome.again ? run.begin : run.begin + run.count - run.drafts + outcome.accepted;
    a.sequence.drafts = 0;
    if (outcome.again)
      a.draft_length.rest();
    else
      a.draft_length.learn(run.drafts, outcome.accepted);
  }

  /// A run's outcome before its token: whether its data broke an op's contract. Keeps the state behind it.
  [[nodiscard]] serve::Outcome check_run(const serve::PlannedRun& run) noexcept {
    serve::Outcome outcome;
    ActiveRequest& a = *serving_.request(run.request);
    if (auto fault = faults_.of(run.slot, model_.plan().plan, &model_.op_rows()); !fault) {
      outcome.again = run.drafts != 0;
      if (!outcome.again) fail_run(a, fault.error(), outcome);
    } else if (run.save != serve::kNone)
      if (auto r = serving_.keep(run); !r) fail_run(a, r.error(), outcome);
    return outcome;
  }
  void fail_run(ActiveRequest& a, const Error& error, serve::Outcome& outcome) noexcept {
    model_.options().log(LogLevel::error, error.text());
    a.finish = FinishReason::failed;
    a.error = error;
    outcome.failed = true;
  }

  /// Reads the token of `row` for its request.
  [[nodiscard]] Result<void> take_token(ActiveRequest& a, std::size_t row, serve::Outcome& outcome) noexcept {
    std::int32_t id = kNoToken;
    const auto token_bytes = as_writable_bytes(Span(&id, 1));
    if (auto r = model_.executor().read(exec::port::kToken, row * sizeof id, token_bytes); !r) return r;
    if (id < 0) {
      fail_run(a, Error::of(Errc::spec_violation, "the sampler chose no token"), outcome);
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
        fail_run(a, chosen.error(), outcome);
        return {};
      }
      id = *chosen;
      if (id == kNoToken) {
        a.finish = FinishReason::stop_token;
        outcome.empty = true;
        return {};
      }
    }
    auto delivery = deliver(a, id, model_.tokenizer(), model_.context());
    if (!delivery) return pass(delivery);
    if (auto r = a.drawn.put(delivery->token); !r) return r;
    a.finish = delivery->finish;
    outcome.token = static_cast<std::uint32_t>(id);
    outcome.last = delivery->finish != FinishReason::none;
    return {};
  }

  /// Chooses from the row in `logits_`.
  [[nodiscard]] Result<std::int32_t> choose_within_grammar(ActiveRequest& a) noexcept {
    const RoundingMode rounding;
    if (auto r = candidates_.resize(logits_.size()); !r) return pass(r);
    return choose_within(a, *model_.tokenizer(), logits_.span(), candidates_.span(), bytes_);
  }

  // --- what the scheduler says ---------------------------------------------------------------------------

  /// Hands its news to the requests.
  void tell(const OnToken& on_token) noexcept {
    std::size_t arrived = 0;
    for (; seen_ < serving_.scheduler().events().size(); ++seen_) {
      const serve::StepEvent event = serving_.scheduler().events()[seen_];
      if (event.tag != 0 && event.kind == serve::EventKind::accepted) {
        serving_.take(event.subject, std::move(serving_.arriving()[arrived++]));
      } else if (event.tag != 0 && event.kind == serve::EventKind::refused) {
        Owned<ActiveRequest> refused = std::move(serving_.arriving()[arrived++]);
        refused->finish = FinishReason::failed;
        refused->error = refusal(event);
        refused->retry_after_ns = event.retry_after;
        end(std::move(refused), on_token);
      } else if (event.kind == serve::EventKind::admitted && serving_.request(event.subject)) {
        ActiveRequest& a = *serving_.request(event.subject);
        if (!a.began) a.cached_tokens = event.value;
        a.began = true;
      } else if (event.kind == serve::EventKind::token) {
        ActiveRequest& a = *serving_.request(event.subject);
        if (a.finish == FinishReason::callback) continue;
        Token next = a.drawn.take();
        next.cached_tokens = a.cached_tokens;
        if (!on_token(a.id, next)) hush(a);
      } else if (event.kind == serve::EventKind::ended && serving_.request(event.subject)) {
        Owned<ActiveRequest> ended = serving_.end(event.subject);
        if (ended->finish == FinishReason::none) name_end(*ended, event.end);
        end(std::move(ended), on_token);
      }
    }
    serving_.drop_arrived(arrived);
  }
  /// Whether a request ended between steps: its row is free for another, and the next step has yet to tell of it.
  [[nodiscard]] bool has_untold_end() noexcept {
    const Span<const serve::StepEvent> events = serving_.scheduler().events();
    for (std::size_t i = seen_; i < events.size(); ++i)
      if (events[i].kind == serve::EventKind::ended && serving_.request(events[i].subject)) return true;
    return false;
  }
  /// Says how a request ended that the scheduler ended by itself.
  static void name_end(ActiveRequest& a, serve::EndReason why) noexcept {
    a.finish = FinishReason::cancelled;
    if (why != serve::EndReason::quota_lowered) return;
    a.finish = FinishReason::failed;
    a.error = Error::of(Errc::capacity_exceeded, "its tenant's quota was lowered below the pages that it can need");
  }
  /// The callable has said that it wants no more, so what else the step drew was never its.
  void hush(ActiveRequest& a) noexcept {
    a.finish = FinishReason::callback;
    a.generated -= a.drawn.size();
    cancel_now(a);
  }
  void cancel_now(const ActiveRequest& a) noexcept {
    serve::Arrival note;
    note.kind = serve::ArrivalKind::cancel;
    note.subject = a.handle;
    serving_.scheduler().arrive(note);
  }
  [[nodiscard]] static Error refusal(const serve::StepEvent& event) noexcept {
    const bool unknown = event.refusal == serve::Refusal::unknown_subject;
    Error error = Error::of(unknown ? Errc::not_found : Errc::capacity_exceeded, "the request is refused: ");
    error.append(serve::name(event.refusal));
    if (event.retry_after != 0) error.append("; try again after ").append(event.retry_after).append(" ns");
    return error;
  }

  /// Ends a request that is in nobody's tables any more.
  void end(Owned<ActiveRequest> ended, const OnToken& on_token) noexcept {
    const FinishReason reason = ended->finish;
    if (ended->error) last_error_ = *ended->error;
    show_ended(ended->id, reason);
    last_completion_ = {reason, ended->sequence.prompt_tokens, ended->generated};
    show(*ended, exec::RequestPhase::ended, name(reason));
    // A callable that returned false is not called again.
    if (reason == FinishReason::callback || ended->silent) return;
    Token last{.text = last_text(*ended), .finish = reason};
    if (reason == FinishReason::failed) last.error = &last_error_;
    last.retry_after_ns = ended->retry_after_ns;
    last.cached_tokens = ended->cached_tokens;
    (void)on_token(ended->id, last);
  }

  /// Ends requests that may have no further token: those with max_tokens 0, and restored ones that already have
  /// max_tokens. All others end with their last token.
  void finish_those_at_their_limit(const OnToken& on_token) noexcept {
    for (std::size_t i = 0; i < serving_.arriving().size();) {
      if (serving_.arriving()[i]->generated < serving_.arriving()[i]->max_tokens) {
        ++i;
        continue;
      }
      end(take_arriving(i, FinishReason::length), on_token);
    }
  }
  [[nodiscard]] Owned<ActiveRequest> take_arriving(std::size_t index, FinishReason reason) noexcept {
    Vector<Owned<ActiveRequest>>& all = serving_.arriving();
    Owned<ActiveRequest> taken = std::move(all[index]);
    for (std::size_t i = index; i + 1 < all.size(); ++i) all[i] = std::move(all[i + 1]);
    all.pop_back();
    taken->finish = reason;
    return taken;
  }

  void cancel_running(const OnToken& on_token) noexcept {
    for (std::uint32_t slot = 0; slot < serving_.slot_count(); ++slot)
      if (ActiveRequest* a = serving_.in_slot(slot); a != nullptr) {
        a->finish = FinishReason::cancelled;
        cancel_now(*a);
      }
    tell(on_token);
    // A request that has not begun is the one that is asked for.
    while (!serving_.arriving().empty()) end(take_arriving(0, FinishReason::cancelled), on_token);
  }

  /// Ends a request wherever it is; it may have ended already.
  void end_cancelled(RequestId id, const OnToken& on_token) noexcept {
    for (std::size_t i = 0; i < serving_.arriving().size(); ++i)
      if (serving_.arriving()[i]->id == id) return end(take_arriving(i, FinishReason::cancelled), on_token);
    ActiveRequest* a = find(id);
    if (a == nullptr) return;
    a->finish = FinishReason::cancelled;
    cancel_now(*a);
    tell(on_token);
  }

  /// A request that has not ended, or null.
  [[nodiscard]] ActiveRequest* find(RequestId id) noexcept {
    if (ActiveRequest* running = find_running(id); running != nullptr) return running;
    for (Span<Owned<ActiveRequest>> all : {serving_.arriving().span(), serving_.requests()})
      for (Owned<ActiveRequest>& a : all)
        if (a && a->id == id) return a.get();
    return nullptr;
  }
  /// The request in its slot, or null.
  [[nodiscard]] ActiveRequest* find_running(RequestId id) noexcept {
    for (std::uint32_t slot = 0; slot < serving_.slot_count(); ++slot)
      if (ActiveRequest* a = serving_.in_slot(slot); a != nullptr && a->id == id) return a;
    return nullptr;
  }
  [[nodiscard]] bool waits(const ActiveRequest& a) noexcept {
    return a.handle != 0 &&
           serving_.scheduler().state().requests[serve::row_of(a.handle)].stage == serve::RequestStage::waiting;
  }
  /// Takes back a request that found no slot.
  [[nodiscard]] std::unexpected<Error> leave_queue(ActiveRequest& a, const OnToken& on_token) noexcept {
    a.silent = true;
    cancel_now(a);
    tell(on_token);
    return fail(Errc::capacity_exceeded, "no slot is free");
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
      for (std::uint32_t slot = 0; slot < serving_.slot_count(); ++slot)
        if (const ActiveRequest* a = serving_.in_slot(slot); a != nullptr)
          show(*a, a->sequence.prompt_left() != 0 ? exec::RequestPhase::prefill : exec::RequestPhase::decode);
      const auto running = static_cast<std::uint32_t>(serving_.running());
      const auto waiting = static_cast<std::uint32_t>(serving_.left() - running);
      model_.observer().load(
          {running, waiting, serving_.slot_count(), serving_.used_pages(), serving_.slots().all_pages()});
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

  OpenModel<B, Families, Catalog, O> model_;
  Mailbox mailbox_;
  Serving<B> serving_;
  serve::PrefillRate rate_;
  Vector<serve::Outcome> outcomes_;  ///< of a step's runs
  Vector<std::uint32_t> run_of_;     ///< by slot
  Vector<serve::Draft> drafts_;      ///< by slot; none where the engine drafts nothing
  std::size_t seen_ = 0;             ///< events of the scheduler
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
