// SPDX-License-Identifier: Apache-2.0
// zrt/engine/engine_core.hpp: the inside of an engine: the loop that carries requests from step to step.
#pragma once

#include <zrt/core/rounding_mode.hpp>
#include <zrt/engine/callables.hpp>
#include <zrt/engine/check_engine.hpp>
#include <zrt/engine/drafter.hpp>
#include <zrt/engine/embedder.hpp>
#include <zrt/engine/evaluation.hpp>
#include <zrt/engine/mailbox.hpp>
#include <zrt/engine/one_call.hpp>
#include <zrt/engine/open_model.hpp>
#include <zrt/engine/request_news.hpp>
#include <zrt/engine/snapshot.hpp>
#include <zrt/engine/step_outcomes.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Everything an engine owns, at one address. See Engine for what the calls promise.
///
/// A request goes from the mailbox (mailbox.hpp) to the scheduler (serving.hpp). Each step the scheduler plans runs, and
/// one batch computes them; what was drawn goes to the scheduler as the outcome of its run (step_outcomes.hpp), and comes
/// back as an event: a token for the request's callable, or its end (request_news.hpp).
///
/// Host callables come without their types, so that all of this is compiled once per backend.
template <class B, class Families, class O> class EngineCore {
  using Catalog = ModelOps<B, FamiliesOn<B, Families>>;
  using Model = OpenModel<B, Families, Catalog, O>;

 public:
  EngineCore(model::GgufFile file, const EngineOptions& options, const DeviceOptionsOf<B>& device, O observer) noexcept
      : model_(std::move(file), options, device, observer),
        mailbox_(options.allocator),
        serving_(options.allocator),
        outcomes_(model_, serving_, options.allocator),
        drafter_(serving_, options.allocator),
        watch_(model_, serving_),
        news_(mailbox_, serving_, watch_),
        shown_(options.allocator),
        cancelled_(options.allocator),
        pauses_(options.allocator) {}

  /// Opens the model and makes room for its requests.
  [[nodiscard]] Result<void> load() noexcept {
    const RoundingMode rounding;
    if (auto r = model_.load(); !r) return r;
    const EngineOptions& o = model_.options();
    if (exec::WatchesRuns<O> && (o.prefix_cache || o.prefix_pages != 0 || o.pages != 0 ||
                                 o.queue != EngineOptions{}.queue || o.draft_tokens != 0))
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
    if (auto r = outcomes_.reserve(sizes.slots, model_.config().vocabulary, o.allocator); !r) return r;
    if (auto r = drafter_.reserve(sizes.slots, o.draft_tokens); !r) return r;
    if (auto r = mailbox_.reserve(serving_.scheduler().state().limits.tenants, serving_.most_unread()); !r) return r;
    if (auto r = shown_.reserve(serving_.unread().rows()); !r) return r;
    if (auto r = cancelled_.reserve(16); !r) return r;
    if (auto r = pauses_.reserve(16); !r) return r;
    gives_logits_ = model_.plan().plan.output(exec::port::kLogits) != plan::kNoRegister;
    model_.log_opened();
    return {};
  }

  [[nodiscard]] const Model& model() const noexcept { return model_; }
  [[nodiscard]] Model& model() noexcept { return model_; }

  // --- requests, from any thread ---------------------------------------------------------------------

  [[nodiscard]] Result<RequestId> submit(const Request& request) noexcept {
    auto active = make_request(request);
    if (!active) return pass(active);
    return mailbox_.post(std::move(*active));
  }

  void cancel(RequestId id) noexcept { mailbox_.cancel(id); }

  [[nodiscard]] Result<void> pause(RequestId id, bool on) noexcept {
    if (exec::WatchesRuns<O>)
      return fail(Errc::unimplemented, "a recording of a run holds no client that does not read");
    return mailbox_.pause(id, on);
  }

  // --- steps -----------------------------------------------------------------------------------------

  /// Whether any request runs or waits; notes of cancellation do not count.
  [[nodiscard]] bool has_requests() noexcept { return serving_.left() != 0 || mailbox_.has_requests(); }

  [[nodiscard]] Result<std::size_t> step(const OnToken& on_token) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    take_notes(on_token);
    const bool reads = !serving_.unread().empty();
    if (lost_) fail_waiting(on_token);
    Result<void> ran{};
    if (serving_.left() != 0) ran = run_step(on_token, exec::StopPoll{});
    if (reads) mailbox_.note_unread(serving_.unread());
    if (!ran) return pass(ran);
    return serving_.left();
  }
  /// Takes in what came since the last step, without one.
  [[nodiscard]] Result<std::size_t> hear(const OnToken& on_token) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    take_notes(on_token);
    return serving_.left();
  }

  /// Runs one request in a free slot to its end, without the queue.
  [[nodiscard]] Result<Completion> generate(const Request& request, const OnToken& on_token,
                                            const exec::StopPoll& stop) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (auto r = expect_resident(); !r) return pass(r);
    auto active = make_request(request);
    if (!active) return pass(active);
    const auto& state = serving_.scheduler().state();
    if (state.queued != 0 || serving_.scheduler().free_slot() == serve::kNone)
      return fail(Errc::capacity_exceeded, "no slot is free");
    if (auto r = place_adapter(**active); !r) return pass(r);
    ActiveRequest& mine = **active;
    const RequestId id = mine.id;
    if (auto r = serving_.arriving().push_back(std::move(*active)); !r) return pass(r);
    mailbox_.know(mine);
    watch_.show_taken(mine);
    if (auto r = run_step(on_token, stop); !r) return pass(r);
    if (ActiveRequest* a = news_.find(id); a != nullptr && waits(*a)) return leave_queue(*a, on_token);
    while (news_.find(id) != nullptr) {
      rest();
      if (auto r = run_step(on_token, stop); !r) return pass(r);
    }
    if (news_.last_completion().finish == FinishReason::failed) return std::unexpected<Error>(news_.last_error());
    return news_.last_completion();
  }

  [[nodiscard]] std::uint32_t processed(RequestId id) noexcept {
    const ActiveRequest* running = news_.find_running(id);
    return running != nullptr ? running->sequence.processed : 0;
  }

  [[nodiscard]] std::uint64_t idle_ns() noexcept {
    if (mailbox_.has_mail() || serving_.has_arrivals() || lost_ || news_.has_untold_end()) return 0;
    if (serving_.left() == 0) return kUntilSubmit;
    return serving_.scheduler().idle(now());
  }

  // --- tenants ---------------------------------------------------------------------------------------

  [[nodiscard]] Result<TenantId> create_tenant(const TenantQuota& quota) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (exec::WatchesRuns<O>) return fail(Errc::unimplemented, "a recording of a run holds no tenants");
    if (model_.options().clock.now == nullptr)
      return fail(Errc::invalid_argument, "a tenant's quota needs a clock; the engine has none");
    if (auto r = mailbox_.reserve_ids(serving_.tenants() + 2); !r) return pass(r);
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
    if (removed) mailbox_.forget(tenant, serving_.unread());
    return removed;
  }
  [[nodiscard]] Result<SessionId> open_session(TenantId tenant) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (exec::WatchesRuns<O>) return fail(Errc::unimplemented, "a recording of a run holds no sessions");
    return serving_.open_session(tenant);
  }
  [[nodiscard]] Result<void> close_session(SessionId session) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    return serving_.close_session(session);
  }
  [[nodiscard]] Result<TenantLedger> usage(TenantId tenant) noexcept {
    const TenantLedger* ledger = serving_.scheduler().ledger(serving_.handle(tenant));
    if (ledger == nullptr) return fail(Errc::not_found, "no tenant has id ", static_cast<std::uint64_t>(tenant));
    return *ledger;
  }

  [[nodiscard]] const PageTimes& page_times() noexcept { return serving_.scheduler().state().pages.times(); }

  // --- memory ----------------------------------------------------------------------------------------

  [[nodiscard]] bool is_resident() const noexcept { return model_.is_bound(); }
  [[nodiscard]] std::size_t running() noexcept { return serving_.running(); }
  [[nodiscard]] HeldMemory memory() noexcept {
    HeldMemory use = model_.memory();
    use.caches += serving_.kept_bytes();
    if (!draft_core_) return use;
    const HeldMemory drafts = draft_core_->memory();
    return {use.weights + drafts.weights, use.caches + drafts.caches, use.work + drafts.work};
  }
  [[nodiscard]] Result<void> hold(bool on) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (exec::WatchesRuns<O>) return no_eviction();
    if (model_.is_bound()) serving_.scheduler().admit(!on);
    return {};
  }
  [[nodiscard]] Result<void> evict() noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (exec::WatchesRuns<O>) return no_eviction();
    if (!model_.is_bound()) return {};
    if (const std::size_t running = serving_.running(); running != 0)
      return fail(Errc::invalid_state, running,
                  " requests run, expected none: hold the engine and step until they end");
    release();
    return {};
  }
  [[nodiscard]] Result<void> reopen() noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (model_.is_bound()) return {};
    const RoundingMode rounding;
    Result<void> done = model_.bind();
    if (done) done = serving_.attach(model_.executor(), model_.options().allocator);
    if (done && draft_core_) done = draft_core_->reopen();
    if (done) {
      lost_.reset();
      return {};
    }
    release();
    lost_ = done.error();
    return done;
  }

  /// Takes the engine of a model that guesses for this one; leaves it where it is refused.
  [[nodiscard]] Result<void> draft_with(Owned<EngineCore>& other) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (auto r = check_drafter(*other); !r) return r;
    const EngineOptions& o = model_.options();
    DraftModel<B, Model> drafts(other->model_, other->serving_, *other->planner_, o.allocator);
    if (auto r = drafts.reserve(o.slots, model_.context(), o.bias_entries, o.allocator); !r) return r;
    draft_core_ = std::move(other);
    drafter_.take(std::move(drafts));
    return {};
  }

  [[nodiscard]] TenantUse use(TenantId tenant) noexcept {
    TenantUse use = serving_.scheduler().use(serving_.handle(tenant), now());
    use.ready = use.ready || mailbox_.has_unread(tenant);
    return use;
  }
  [[nodiscard]] Result<void> expect_tenants() noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    return serving_.expect_tenants();
  }
  [[nodiscard]] std::uint64_t rate_wait_ns() noexcept { return serving_.scheduler().rate_wait(now()); }
  void charge(TenantId tenant, const TenantUse& elsewhere) noexcept {
    serving_.scheduler().charge(serving_.handle(tenant), elsewhere, model_.options().clock());
  }

  // --- adapters --------------------------------------------------------------------------------------

  [[nodiscard]] Result<AdapterId> load_adapter(const model::GgufFile& file, float scale) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    const RoundingMode rounding;
    return model_.load_adapter(file, scale);
  }
  [[nodiscard]] Result<void> unload_adapter(AdapterId id) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (id == AdapterId{}) return fail(Errc::not_found, "no adapter has id 0");
    const ActiveRequest* user = nullptr;
    const auto see = [&](const ActiveRequest& a) {
      if (user == nullptr && a.adapter == id) user = &a;
    };
    for (Span<Owned<ActiveRequest>> all : {serving_.arriving().span(), serving_.requests()})
      for (const Owned<ActiveRequest>& a : all)
        if (a) see(*a);
    serving_.unread().each(see);
    if (user != nullptr)
      return fail(Errc::invalid_state, "request ", static_cast<std::uint64_t>(user->id), " runs with adapter ",
                  static_cast<std::uint32_t>(id), ", expected none that does");
    return model_.adapters().unload(id);
  }

  // --- a running request as bytes --------------------------------------------------------------------

  [[nodiscard]] Result<Vector<std::byte>> save(RequestId id) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (auto r = expect_resident(); !r) return pass(r);
    const ActiveRequest* running = news_.find_running(id);
    if (running == nullptr) return fail(Errc::not_found, "no running request has id ", static_cast<std::uint64_t>(id));
    const serve::Sequence& sequence = running->sequence;
    if (!sequence.given.empty() && sequence.processed < sequence.given.back().first + sequence.given.back().rows)
      return fail(Errc::invalid_state,
                  "the request's prompt has embeddings that were not read yet, which no snapshot holds");
    if (running->drawn.size() != 0)
      return fail(Errc::invalid_state, "a token of the request waits for its client; resume it with pause(id, false)");
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
    if (auto r = expect_resident(); !r) return pass(r);
    if (news_.has_untold_end())
      return fail(Errc::invalid_state, "requests have ended since the last step; expected a step, which tells of them");
    const Allocator& allocator = model_.options().allocator;
    const auto adapter = model_.adapters().row_of(request.adapter);
    if (!adapter) return pass(adapter);
    auto identity = model_.identity(*adapter);
    if (!identity) return pass(identity);
    auto snapshot = read_snapshot(bytes, *identity, allocator);
    if (!snapshot) return pass(snapshot);
    const std::uint64_t state = serving_.slots().bytes_of(serve::SlotPart::all, snapshot->processed);
    if (snapshot->state.size() != state)
      return fail(Errc::invalid_file, "the snapshot holds ", snapshot->state.size(), " bytes of state, expected ",
                  state);
    if (request.grammar != nullptr) return fail(Errc::unimplemented, "a restored request takes no grammar");
    if (request.prompt_log_probabilities != 0)
      return fail(Errc::unimplemented, "a restored request tells no log-probabilities of its prompt");
    if (request.tenant != TenantId{}) return fail(Errc::unimplemented, "a restored request is the host's");
    if (auto r = serving_.expect_session(request.session, request.tenant); !r) return pass(r);
    auto made = make_request(request, snapshot->tokens.span());
    if (!made) return pass(made);
    ActiveRequest& active = **made;
    active.sequence.adapter = *adapter;
    active.sequence.prompt_tokens = snapshot->prompt_tokens;
    active.sequence.processed = snapshot->processed;
    active.generated = static_cast<std::uint32_t>(snapshot->tokens.size()) - snapshot->prompt_tokens;
    if (auto r = replay_text(active, snapshot->held, allocator); !r) return pass(r);
    const RequestId id = active.id;
    watch_.show_taken(active);
    if (active.generated >= active.max_tokens) {
      if (auto r = serving_.arriving().push_back(std::move(*made)); !r) return pass(r);
      mailbox_.know(active);
      return id;
    }
    if (auto r = serving_.resume(*made, snapshot->state); !r) {
      if (ActiveRequest* begun = news_.find_running(id); begun != nullptr) {
        begun->silent = true;
        news_.cancel_now(*begun);
      }
      return pass(r);
    }
    mailbox_.know(active);
    return id;
  }

  // --- logits without requests -----------------------------------------------------------------------

  [[nodiscard]] Result<void> evaluate(Span<const std::int32_t> tokens, std::size_t steps, const ChooseToken& choose,
                                      AdapterId id) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (auto r = expect_resident(); !r) return r;
    if (!gives_logits_) return no_logits();
    const auto adapter = model_.adapters().row_of(id);
    if (!adapter) return pass(adapter);
    return evaluation().run(tokens, steps, choose, *adapter);
  }

  [[nodiscard]] Result<double> perplexity(std::string_view text) noexcept {
    const OneCall call(in_call_);
    if (!call) return call.refusal();
    if (auto r = expect_resident(); !r) return pass(r);
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
    if (auto r = expect_resident(); !r) return pass(r);
    const RoundingMode rounding;
    return Embedder<B, O>({model_.executor(), serving_, *planner_, model_.tokenizer(), model_.config(),
                           model_.context(), model_.options().allocator})
        .run(inputs, options, stop);
  }

 private:
  /// Takes in what came since the last step; what was cancelled ends, and leaves its place to others that no step has read.
  void take_notes(const OnToken& on_token) noexcept {
    if (!mailbox_.has_mail()) return;
    collect();
    for (const RequestId id : cancelled_) news_.end_cancelled(id, on_token);
    if (!cancelled_.empty()) mailbox_.note_unread(serving_.unread());
    for (const PauseNote& note : pauses_) news_.pause(note, on_token);
  }
  /// Takes in what came since the last step, and shows it to an observer.
  void collect() noexcept {
    if constexpr (exec::WatchesRequests<O> || exec::WatchesRuns<O>) {
      mailbox_.collect(shown_, cancelled_, pauses_);
      while (!shown_.empty()) {
        Owned<ActiveRequest> next = shown_.take_oldest();
        watch_.show_taken(*next);
        watch_.show(*next, exec::RequestPhase::queued);
        serving_.unread().push(std::move(next));
      }
    } else {
      mailbox_.collect(serving_.unread(), cancelled_, pauses_);
    }
  }
  [[nodiscard]] Result<void> expect_resident() const noexcept {
    if (model_.is_bound()) return {};
    return fail(Errc::invalid_state, "the engine's memory was given back, expected a call of reopen before");
  }
  /// Gives back the memory of the model and of its draft model.
  void release() noexcept {
    if (draft_core_) {
      drafter_.model()->forget();
      draft_core_->release();
    }
    serving_.detach();
    model_.release();
  }
  /// Whether another model's guesses can be tokens of this one, and whether it has room for all texts.
  [[nodiscard]] Result<void> check_drafter(EngineCore& other) noexcept {
    if (exec::WatchesRuns<O>) return fail(Errc::unimplemented, "a recording of a run holds no draft model");
    const EngineOptions& o = model_.options();
    if (!drafter_.guesses())
      return fail(Errc::invalid_argument, "draft_tokens is 0, expected the most guesses of a step");
    if (draft_core_ || other.draft_core_) return fail(Errc::invalid_state, "there is a draft model already");
    if (has_requests() || other.has_requests())
      return fail(Errc::invalid_state, "an engine has requests, expected none while a draft model comes");
    if (auto r = expect_resident(); !r) return r;
    if (auto r = other.expect_resident(); !r) return r;
    if (!gives_logits_ || !other.gives_logits_) return no_logits();
    if (serving_.scheduler().state().one_way())
      return fail(Errc::unimplemented,
                  "the model has recurrent layers, whose state cannot go back behind a wrong guess");
    // It reads its own guesses one after the other, so that pages which a window has left behind would be wanted again.
    if (other.serving_.scheduler().state().limits.recurrent)
      return fail(Errc::unimplemented,
                  "the draft model has recurrent layers or windows, whose state cannot go back behind a wrong guess");
    if (other.model_.options().slots < o.slots)
      return fail(Errc::invalid_argument, "the draft model has ", other.model_.options().slots, " slots, expected ",
                  o.slots, " or more");
    if (other.model_.context() < model_.context())
      return fail(Errc::invalid_argument, "the draft model's context is ", other.model_.context(), ", expected ",
                  model_.context(), " or more");
    return check_vocabulary(other.model_);
  }
  [[nodiscard]] Result<void> check_vocabulary(const Model& other) const noexcept {
    const std::uint32_t tokens = model_.config().vocabulary;
    if (other.config().vocabulary != tokens)
      return fail(Errc::invalid_argument, "the draft model's vocabulary has ", other.config().vocabulary,
                  " tokens, expected ", tokens);
    const text::Tokenizer* own = model_.tokenizer();
    const text::Tokenizer* theirs = other.tokenizer();
    for (std::uint32_t t = 0; own != nullptr && theirs != nullptr && t < tokens; ++t) {
      const auto id = static_cast<std::int32_t>(t);
      if (own->token_text(id) != theirs->token_text(id))
        return fail(Errc::invalid_argument, "the draft model's token ", t, " is '", theirs->token_text(id),
                    "', expected '", own->token_text(id), "'");
    }
    return {};
  }
  [[nodiscard]] static std::unexpected<Error> no_eviction() noexcept {
    return fail(Errc::unimplemented, "a recording of a run holds no eviction");
  }
  /// Ends the requests that waited for a model that could not come back.
  void fail_waiting(const OnToken& on_token) noexcept {
    const Error lost = *lost_;
    lost_.reset();
    news_.fail_waiting(lost, on_token);
  }

  /// For the scheduler: 0 where time does not count.
  [[nodiscard]] std::uint64_t now() noexcept { return serving_.counts_time() ? model_.options().clock() : 0; }

  /// Waits where a step would find nothing to do, but no longer than a stop may take.
  void rest() noexcept {
    constexpr std::uint64_t kLongest = 1'000'000;
    const std::uint64_t idle = serving_.counts_time() ? idle_ns() : 0;
    if (idle != 0) model_.options().wait(idle < kLongest ? idle : kLongest);
  }

  [[nodiscard]] static std::unexpected<Error> no_logits() noexcept {
    return fail(Errc::invalid_argument, "the model gives embeddings, no tokens; call embed");
  }

  [[nodiscard]] Evaluation<B, O> evaluation() noexcept {
    return {model_.executor(), serving_, *planner_, outcomes_.logits(), model_.context(), model_.options().allocator};
  }

  [[nodiscard]] Result<Owned<ActiveRequest>> make_request(const Request& request) noexcept {
    if (!gives_logits_) return no_logits();
    if (exec::WatchesRuns<O> && !request.embeddings.empty())
      return fail(Errc::unimplemented, "a recording of a run holds no embeddings");
    if (exec::WatchesRuns<O> && request.adapter != AdapterId{})
      return fail(Errc::unimplemented, "a recording of a run holds no adapters");
    if (exec::WatchesRuns<O> && request.grammar != nullptr)
      return fail(Errc::unimplemented, "a recording of a run holds no grammar");
    if (exec::WatchesRuns<O> && request.prompt_log_probabilities != 0)
      return fail(Errc::unimplemented, "a recording of a run holds no log-probabilities of prompts");
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
                       model_.options(), model_.suppressed(), model_.tokenizer(), model_.longest_token(), given_width(),
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

  /// One step over all requests.
  [[nodiscard]] Result<void> run_step(const OnToken& on_token, const exec::StopPoll& stop) noexcept {
    if (stop()) {
      news_.cancel_running(on_token);
      return {};
    }
    news_.tell(on_token);
    const auto place = [this](ActiveRequest& a) { return place_adapter(a); };
    serving_.choose();
    news_.read(place, on_token);
    const serve::StepPlan plan = plan_step(stop);
    serving_.audit();
    news_.tell(on_token);
    if (plan.runs.empty()) return {};
    outcomes_.begin(plan);
    // Only a step of a single request may stop halfway.
    auto completed = run_batch(plan, serving_.running() == 1 ? stop : exec::StopPoll{});
    if (!completed || !*completed) return give_up(plan, completed, on_token, stop);
    // What the host computes for prompts that are told makes the step longer: it counts in their pace.
    const std::uint64_t began = took_ != 0 && outcomes_.tells_prompts(plan) ? model_.options().clock() : 0;
    const Result<void> taken = outcomes_.take(plan, planner_->origins(), on_token);
    if (began != 0) took_ += model_.options().clock() - began;
    serving_.scheduler().settle(outcomes_.first(plan.runs.size()), took_);
    serving_.audit();
    news_.tell(on_token);
    watch_.show_stepped(true);
    return taken;
  }

  /// A step that reads what arrived.
  [[nodiscard]] serve::StepPlan plan_step(const exec::StopPoll& stop) noexcept {
    news_.begin_step();
    Span<const std::uint32_t> cuts{};
    if constexpr (exec::DictatesCuts<O>) cuts = model_.observer().cuts();
    const std::uint64_t time = now();
    if (model_.options().page_times) serving_.scheduler().time_pages(model_.options().clock());
    const auto drafts = drafter_.draft(model_.options().clock, serving_.running() == 1 ? stop : exec::StopPoll{});
    return serving_.plan(time, cuts.empty() ? longest_chunk() : ~0u, cuts, drafts);
  }

  /// Most prompt tokens of a step: a chunk, or fewer where that keeps the device too long.
  [[nodiscard]] std::uint32_t longest_chunk() noexcept {
    const std::uint32_t chunk = model_.sizes().prefill_tokens - model_.sizes().slots;
    if constexpr (BoundsSteps<B>) {
      if (!model_.is_bound()) return chunk;
      // Those that arrive begin at their first position.
      bool prompts = serving_.has_arrivals();
      std::uint32_t furthest = 0;
      for (std::uint32_t slot = 0; slot < serving_.slot_count(); ++slot)
        if (const ActiveRequest* a = serving_.in_slot(slot); a != nullptr) {
          prompts = prompts || a->sequence.prompt_left() != 0;
          if (a->sequence.processed > furthest) furthest = a->sequence.processed;
        }
      if (prompts) return model_.executor().timely_tokens(chunk, furthest + chunk);
    }
    return chunk;
  }

  [[nodiscard]] static bool reads_prompt(const serve::StepPlan& plan) noexcept {
    for (const serve::PlannedRun& run : plan.runs)
      if (!run.decode) return true;
    return false;
  }

  /// False where `stop` ended it halfway.
  [[nodiscard]] Result<bool> run_batch(const serve::StepPlan& plan, const exec::StopPoll& stop) noexcept {
    if (auto r = serving_.follow(plan); !r) return pass(r);
    watch_.show_slots();
    const exec::Batch batch = planner_->plan(serving_.sequences(), serving_.pages(), serving_.cuts());
    if constexpr (exec::WatchesRuns<O>) model_.observer().planned(batch);
    const ClockHook& clock = model_.options().clock;
    const bool prompt = reads_prompt(plan);
    const bool times = prompt || drafter_.guesses() || serving_.counts_time();
    took_ = 0;
    const std::uint64_t began = times ? clock() : 0;
    if (auto r = serving_.advance(batch); !r) return pass(r);
    auto completed = model_.executor().step(batch, stop, &outcomes_.faults());
    if (!times || !completed || !*completed) return completed;
    took_ = clock() - began;
    if (!prompt) drafter_.learn(static_cast<std::uint32_t>(batch.tokens.size()), took_);
    return completed;
  }

  /// Ends the requests of a step that did not run to its end: it failed, or the host stopped it.
  [[nodiscard]] Result<void> give_up(const serve::StepPlan& plan, const Result<bool>& completed,
                                     const OnToken& on_token, const exec::StopPoll& stop) noexcept {
    watch_.show_stepped(false);
    if (!completed) model_.options().log(LogLevel::error, completed.error().text());
    for (const serve::PlannedRun& run : plan.runs) {
      ActiveRequest& a = *serving_.request(run.request);
      a.finish = completed ? FinishReason::cancelled : FinishReason::failed;
      if (!completed) a.error = completed.error();
    }
    serving_.scheduler().settle({});
    serving_.audit();
    news_.tell(on_token);
    if (!completed) return std::unexpected<Error>(completed.error());
    return run_step(on_token, stop);  // the poll still says stop
  }

  [[nodiscard]] bool waits(const ActiveRequest& a) noexcept {
    return a.handle != 0 &&
           serving_.scheduler().state().requests[serve::row_of(a.handle)].stage == serve::RequestStage::waiting;
  }
  /// Takes back a request that found no slot.
  [[nodiscard]] std::unexpected<Error> leave_queue(ActiveRequest& a, const OnToken& on_token) noexcept {
    a.silent = true;
    news_.cancel_now(a);
    news_.tell(on_token);
    return fail(Errc::capacity_exceeded, "no slot is free");
  }

  Model model_;
  Mailbox mailbox_;
  Serving<B> serving_;
  StepOutcomes<B, O, Model> outcomes_;
  Owned<EngineCore> draft_core_;  ///< of a model that guesses for this one
  Drafter<B, Model> drafter_;
  RequestWatch<B, O, Model> watch_;
  RequestNews<B, O, Model> news_;
  std::optional<serve::BatchPlanner> planner_;
  UnreadRequests shown_;         ///< to an observer, while a step begins
  Vector<RequestId> cancelled_;  ///< notes of the step
  Vector<PauseNote> pauses_;     ///< the same
  std::optional<Error> lost_;    ///< why the model did not come back
  std::uint64_t took_ = 0;       ///< nanoseconds of the last step, where they were measured
  bool in_call_ = false;
  bool gives_logits_ = true;
};

}  // namespace zrt::inline ZRT_ABI::detail
