// SPDX-License-Identifier: Apache-2.0
// zrt/engine/engine_core.hpp: the inside of an engine: model, executor, slots, and the step loop.
#pragma once

#include <zrt/core/mutex.hpp>
#include <zrt/core/rounding_mode.hpp>
#include <zrt/engine/active_request.hpp>
#include <zrt/engine/loaded_model.hpp>
#include <zrt/engine/log_probabilities.hpp>
#include <zrt/engine/snapshot.hpp>
#include <zrt/engine/tensor_copies.hpp>
#include <zrt/exec/executor.hpp>
#include <zrt/exec/thread_pool.hpp>
#include <zrt/serve/batch_planner.hpp>
#include <zrt/serve/slot_table.hpp>

#include <atomic>
#include <optional>

namespace zrt::inline ZRT_ABI::detail {

/// Everything an engine owns, at one address. See Engine for what the calls promise.
///
/// `Catalog` is a parameter so that including this header does not instantiate every op's functions.
template <class B, class Families, class Catalog> class EngineCore {
 public:
  EngineCore(model::GgufFile file, const EngineOptions& options) noexcept
      : file_(std::move(file)),
        options_(options),
        vocabulary_(options.allocator),
        compiled_(options.allocator),
        copies_(options.allocator),
        active_(options.allocator),
        planned_(options.allocator),
        sequences_(options.allocator),
        inbox_(options.allocator),
        cancels_(options.allocator),
        cancelled_(options.allocator),
        logits_(options.allocator) {}

  /// Reads, compiles and binds the model.
  [[nodiscard]] Result<void> load() noexcept {
    const RoundingMode rounding;
    if (auto r = check(options_); !r) return r;
    auto config = model::read_config(file_);
    if (!config) return pass(config);
    config_ = *config;
    auto vocabulary = read_vocabulary(file_, options_.allocator);
    if (!vocabulary) return pass(vocabulary);
    vocabulary_ = std::move(*vocabulary);
    if (!vocabulary_.tokens.empty()) {
      auto tokenizer = text::Tokenizer::make(vocabulary_.spec, options_.allocator);
      if (!tokenizer) return pass(tokenizer);
      tokenizer_.emplace(std::move(*tokenizer));
    }
    constexpr OpSet claims = OpSet::of(typename B::Claims{});
    auto compiled = compile_model<Families>(file_, config_, ir::Ops::of<Catalog>(), claims, options_);
    if (!compiled) return pass(compiled);
    compiled_ = std::move(*compiled);
    if (auto r = bind_model(); !r) return r;
    log_opened();
    return {};
  }

  [[nodiscard]] Result<RequestId> submit(const Request& request) noexcept {
    auto active = make_request(request);
    if (!active) return pass(active);
    return enqueue(std::move(*active));
  }

  /// Runs one request in a free slot until it leaves it, past the queue.
  template <class F>
  [[nodiscard]] Result<Completion> generate(const Request& request, F& on_token, const exec::StopPoll& stop) noexcept {
    auto active = make_request(request);
    if (!active) return pass(active);
    auto slot = start(*active);
    if (!slot) return pass(slot);
    if (*slot == serve::SlotTable<B>::kNoSlot) return fail(Errc::capacity_exceeded, "no slot is free");
    while (active_[*slot])
      if (auto r = run_step(on_token, stop); !r) return pass(r);
    return last_completion_;
  }

  void cancel(RequestId id) noexcept {
    const MutexLock lock(mutex_);
    // Without memory for the note the request simply runs on; the caller may ask again.
    if (cancels_.push_back(id)) mail_.store(true, std::memory_order_release);
  }

  /// Whether any request runs or waits; notes of cancellation do not count.
  [[nodiscard]] bool has_requests() noexcept {
    if (running_ != 0 || waiting_ != 0) return true;
    const MutexLock lock(mutex_);
    return !inbox_.empty();
  }
  template <class F> [[nodiscard]] Result<std::size_t> step(F& on_token) noexcept {
    if (auto r = collect_mail(on_token); !r) return pass(r);
    if (auto r = admit(); !r) return pass(r);
    if (running_ != 0)
      if (auto r = run_step(on_token, exec::StopPoll{}); !r) return pass(r);
    return running_ + waiting_;
  }

  template <class F>
  [[nodiscard]] Result<void> evaluate(std::span<const std::int32_t> tokens, std::size_t steps, F& choose) noexcept {
    if (tokens.empty()) return fail(Errc::invalid_argument, "there are no tokens to evaluate");
    if (tokens.size() > context_ || steps > context_ - tokens.size())
      return fail(Errc::capacity_exceeded, tokens.size(), " and ", steps, " tokens, the context holds ", context_);
    serve::Sequence sequence(options_.allocator);
    for (std::int32_t token : tokens)
      if (auto r = feed(sequence, token); !r) return r;
    sequence.prompt_tokens = static_cast<std::uint32_t>(tokens.size());
    sequence.every_row = true;
    auto slot = slots_->acquire();
    if (!slot) return pass(slot);
    if (*slot == serve::SlotTable<B>::kNoSlot) return fail(Errc::capacity_exceeded, "no slot is free");
    sequence.slot = *slot;
    auto result = evaluate_in_slot(sequence, steps, choose);
    if (auto r = slots_->release(*slot); !r) return r;
    return result;
  }

  [[nodiscard]] Result<double> perplexity(std::string_view text) noexcept {
    const RoundingMode rounding;
    if (!tokenizer_) return fail(Errc::unsupported_tokenizer, "the model has no vocabulary");
    auto ids = tokenizer_->encode(text, {.add_special = true, .parse_special = false});
    if (!ids) return pass(ids);
    const std::size_t size = ids->size() < context_ ? ids->size() : context_;
    if (size < 4) return fail(Errc::invalid_argument, "the text has fewer than four tokens");
    double total = 0.0;
    std::uint64_t scored = 0;
    for (std::size_t at = 0; at + size <= ids->size(); at += size) {
      const std::span<std::int32_t> window = ids->span().subspan(at, size);
      if (tokenizer_->adds_bos() && tokenizer_->bos()) window[0] = *tokenizer_->bos();
      auto score = [&](std::uint32_t position, std::span<const float> logits) -> std::int32_t {
        if (position < size / 2 || position + 1 >= size) return kNoToken;
        total += double{log_sum_exp(logits)} - double{logits[static_cast<std::size_t>(window[position + 1])]};
        ++scored;
        return kNoToken;
      };
      if (auto r = evaluate(window, 0, score); !r) return pass(r);
    }
    return math::exp64(total / static_cast<double>(scored));
  }

  [[nodiscard]] Result<Vector<std::byte>> save(RequestId id) noexcept {
    for (Owned<ActiveRequest>& active : active_)
      if (active && active->id == id) return save_snapshot(*slots_, active->sequence, options_.allocator);
    return fail(Errc::not_found, "no running request has id ", static_cast<std::uint64_t>(id));
  }

  [[nodiscard]] Result<RequestId> restore(std::span<const std::byte> bytes, const Request& request) noexcept {
    auto snapshot = read_snapshot(bytes, options_.allocator);
    if (!snapshot) return pass(snapshot);
    const RequestId id{next_id_.fetch_add(1, std::memory_order_relaxed)};
    auto made = make_active(request, id, snapshot->tokens.span(), config_.vocabulary, context_, options_, tokenizer(),
                            vocabulary_.longest);
    if (!made) return pass(made);
    ActiveRequest& active = **made;
    active.sequence.prompt_tokens = snapshot->prompt_tokens;
    active.sequence.processed = snapshot->processed;
    active.generated = static_cast<std::uint32_t>(snapshot->tokens.size()) - snapshot->prompt_tokens;
    if (snapshot->state.size() != slots_->snapshot_bytes(snapshot->processed))
      return fail(Errc::invalid_file, "the snapshot holds ", snapshot->state.size(),
                  " bytes of state, this model needs ", slots_->snapshot_bytes(snapshot->processed));
    auto slot = slots_->acquire();
    if (!slot) return pass(slot);
    if (*slot == serve::SlotTable<B>::kNoSlot) return fail(Errc::capacity_exceeded, "no slot is free");
    active.sequence.slot = *slot;
    auto filled = slots_->reserve(*slot, positions_needed(active));
    if (filled) filled = slots_->restore(*slot, snapshot->processed, snapshot->state);
    if (!filled) {
      if (auto r = slots_->release(*slot); !r) return pass(r);
      return pass(filled);
    }
    active_[*slot] = std::move(*made);
    ++running_;
    return id;
  }

  [[nodiscard]] const text::Tokenizer* tokenizer() const noexcept { return tokenizer_ ? &*tokenizer_ : nullptr; }
  [[nodiscard]] const model::GgufFile& file() const noexcept { return file_; }
  [[nodiscard]] const model::Config& config() const noexcept { return config_; }
  [[nodiscard]] const plan::CompiledPlan& plan() const noexcept { return compiled_; }
  [[nodiscard]] exec::Executor<B>& executor() noexcept { return *executor_; }
  [[nodiscard]] const exec::Executor<B>& executor() const noexcept { return *executor_; }
  [[nodiscard]] typename B::Device& device() noexcept { return device_; }
  [[nodiscard]] std::uint32_t context() const noexcept { return context_; }

 private:
  /// Tells the host's log what was opened, and which registers the plan computes for nobody.
  void log_opened() const noexcept {
    // An error's inline text is the library's way to build a short message without memory.
    Error message = Error::of(Errc::ok, "opened on ", B::name);
    if constexpr (requires { name(device_.isa()); }) message.append(" (").append(name(device_.isa())).append(")");
    message.append(": ").append(compiled_.plan.instructions.size()).append(" instructions, ");
    message.append(options_.slots).append(" slots of ").append(context_).append(" positions, ");
    message.append(executor_->states().bytes()).append(" bytes of state");
    options_.log(LogLevel::info, message.text());
    for (const plan::PlanDiagnostic& d : compiled_.diagnostics)
      if (d.level == plan::DiagnosticLevel::warn)
        options_.log(LogLevel::warn, Error::of(Errc::ok, "instruction ", d.instruction, " writes register ",
                                               plan::index(d.reg), ", which nothing reads")
                                         .text());
  }

  [[nodiscard]] Result<void> bind_model() noexcept {
    ThreadHook threads = options_.thread_hook;
    if (threads.run == nullptr && options_.threads > 1) {
      auto pool = Owned<exec::ThreadPool>::make(options_.allocator, options_.allocator);
      if (!pool) return pass(pool);
      pool_ = std::move(*pool);
      if (auto r = pool_->start(options_.threads); !r) return r;
      threads = pool_->hook();
    }
    device_ = typename B::Device(options_.allocator, threads);
    if constexpr (requires { device_.ready(); })
      if (auto r = device_.ready(); !r) return r;
    context_ = options_.context != 0 ? options_.context : config_.context < 4096 ? config_.context : 4096;
    const std::uint32_t pages_per_slot = (context_ + kPageTokens - 1) / kPageTokens;
    const auto pages =
        narrow<std::uint32_t>((CheckedSize(pages_per_slot) * CheckedSize(options_.slots)).raw(), "the number of pages");
    if (!pages) return pass(pages);
    exec::ExecutorSizes sizes;
    sizes.slots = options_.slots;
    sizes.prefill_tokens = options_.chunk + options_.slots;
    sizes.prefill_rows = options_.logit_rows > options_.slots ? options_.logit_rows : options_.slots;
    sizes.pages = *pages;
    sizes.pages_per_slot = pages_per_slot;
    exec::WeightSource source = model::weight_source(file_);
    if (!file_.has_data()) {
      if (auto r = copies_.read(file_, compiled_.plan); !r) return r;
      source = copies_.source();
    }
    auto executor = exec::Executor<B>::make(compiled_, kOpTable<Catalog>, source, sizes, device_);
    if (!executor) return pass(executor);
    executor_.emplace(std::move(*executor));
    auto slots = serve::SlotTable<B>::make(executor_->states(), device_, sizes.slots, sizes.pages, pages_per_slot,
                                           options_.allocator);
    if (!slots) return pass(slots);
    slots_.emplace(std::move(*slots));
    auto planner = serve::BatchPlanner::make(
        {sizes.slots, sizes.prefill_tokens, sizes.prefill_rows, options_.penalty_window, options_.bias_entries},
        options_.allocator);
    if (!planner) return pass(planner);
    planner_.emplace(std::move(*planner));
    if (auto r = active_.resize(options_.slots); !r) return r;
    if (auto r = sequences_.resize(options_.slots); !r) return r;
    if (auto r = inbox_.reserve(16); !r) return r;
    for (Vector<RequestId>* notes : {&cancels_, &cancelled_})
      if (auto r = notes->reserve(16); !r) return r;
    if (auto r = planned_.reserve(16); !r) return r;
    return logits_.resize(config_.vocabulary);
  }

  [[nodiscard]] Result<Vector<std::int32_t>> prompt_tokens(const Request& request) const noexcept {
    if (!request.tokens.empty()) return Vector<std::int32_t>(options_.allocator);
    if (!tokenizer_) return fail(Errc::unsupported_tokenizer, "the model has no vocabulary; give the prompt as tokens");
    return tokenizer_->encode(request.prompt, {.add_special = true, .parse_special = request.parse_special});
  }

  [[nodiscard]] Result<Owned<ActiveRequest>> make_request(const Request& request) noexcept {
    auto prompt = prompt_tokens(request);
    if (!prompt) return pass(prompt);
    const std::span<const std::int32_t> ids = request.tokens.empty() ? prompt->span() : request.tokens;
    const RequestId id{next_id_.fetch_add(1, std::memory_order_relaxed)};
    return make_active(request, id, ids, config_.vocabulary, context_, options_, tokenizer(), vocabulary_.longest);
  }

  /// Moves a request into a free slot with its pages and returns the slot, or kNoSlot.
  [[nodiscard]] Result<std::uint32_t> start(Owned<ActiveRequest>& request) noexcept {
    auto slot = slots_->acquire();
    if (!slot || *slot == serve::SlotTable<B>::kNoSlot) return slot;
    if (!slots_->reserve(*slot, positions_needed(*request))) {
      if (auto r = slots_->release(*slot); !r) return pass(r);
      return serve::SlotTable<B>::kNoSlot;
    }
    request->sequence.slot = *slot;
    active_[*slot] = std::move(request);
    ++running_;
    return slot;
  }

  [[nodiscard]] Result<RequestId> enqueue(Owned<ActiveRequest> active) noexcept {
    const RequestId id = active->id;
    const MutexLock lock(mutex_);
    if (auto r = inbox_.push_back(std::move(active)); !r) return pass(r);
    mail_.store(true, std::memory_order_release);
    return id;
  }

  /// Takes over what other threads have asked for. Locks only when there is something.
  template <class F> [[nodiscard]] Result<void> collect_mail(F& on_token) noexcept {
    if (!mail_.load(std::memory_order_acquire)) return {};
    cancelled_.clear();
    {
      const MutexLock lock(mutex_);
      if (auto r = planned_.reserve(planned_.size() + inbox_.size()); !r) return r;
      for (Owned<ActiveRequest>& request : inbox_) (void)planned_.push_back(std::move(request));
      waiting_ = planned_.size();
      inbox_.clear();
      std::swap(cancelled_, cancels_);
      mail_.store(false, std::memory_order_release);
    }
    for (RequestId id : cancelled_) {
      for (std::size_t i = 0; i < active_.size(); ++i)
        if (active_[i] && active_[i]->id == id) finish(i, FinishReason::cancelled, on_token);
      for (std::size_t i = 0; i < planned_.size(); ++i) {
        if (planned_[i]->id != id) continue;
        (void)on_token(id, Token{.finish = FinishReason::cancelled});
        remove_waiting(i);
        break;
      }
    }
    return {};
  }

  void remove_waiting(std::size_t index) noexcept {
    for (std::size_t i = index; i + 1 < planned_.size(); ++i) planned_[i] = std::move(planned_[i + 1]);
    planned_.pop_back();
    waiting_ = planned_.size();
  }

  /// Positions that a request may come to use.
  [[nodiscard]] std::uint32_t positions_needed(const ActiveRequest& a) const noexcept {
    std::uint64_t most = std::uint64_t{a.sequence.prompt_tokens} + a.max_tokens;
    // A restored request may already have more tokens than it would be allowed now.
    if (a.sequence.tokens.size() > most) most = a.sequence.tokens.size();
    return most < context_ ? static_cast<std::uint32_t>(most) : context_;
  }

  /// Starts waiting requests, oldest first, while slots and pages last.
  [[nodiscard]] Result<void> admit() noexcept {
    while (waiting_ != 0) {
      auto slot = start(planned_[0]);
      if (!slot) return pass(slot);
      if (*slot == serve::SlotTable<B>::kNoSlot) return {};
      remove_waiting(0);
    }
    return {};
  }

  /// One step over all running requests.
  template <class F> [[nodiscard]] Result<void> run_step(F& on_token, const exec::StopPoll& stop) noexcept {
    if (stop()) {
      for (std::size_t i = 0; i < active_.size(); ++i)
        if (active_[i]) finish(i, FinishReason::cancelled, on_token);
      return {};
    }
    for (std::size_t i = 0; i < active_.size(); ++i) sequences_[i] = active_[i] ? &active_[i]->sequence : nullptr;
    const exec::Batch batch = planner_->plan(sequences_.span(), slots_->pages());
    const std::uint64_t began = batch.prefill ? options_.clock() : 0;
    // Only a step that belongs to one request alone may be left half done.
    auto completed = executor_->step(batch, running_ == 1 ? stop : exec::StopPoll{});
    if (batch.prefill && completed && *completed) planner_->took(options_.clock() - began);
    if (!completed) {
      options_.log(LogLevel::error, completed.error().text());
      for (std::size_t i = 0; i < active_.size(); ++i)
        if (active_[i]) finish(i, FinishReason::failed, on_token);
      return pass(completed);
    }
    if (!*completed) return run_step(on_token, stop);  // the poll still says stop: the request ends as cancelled
    const auto origins = planner_->origins();
    Result<void> taken{};
    // One request's failure never costs another its token: every row is taken before the error goes up.
    for (std::size_t row = 0; row < origins.size(); ++row) {
      const std::size_t index = origins[row].sequence;
      if (!active_[index]) continue;
      if (auto r = take_token(index, row, on_token); !r) {
        finish(index, FinishReason::failed, on_token);
        if (taken) taken = r;
      }
    }
    return taken;
  }

  template <class F> void finish(std::size_t index, FinishReason reason, F& on_token) noexcept {
    Owned<ActiveRequest> ended = std::move(active_[index]);
    --running_;
    (void)slots_->release(ended->sequence.slot);
    last_completion_ = {reason, ended->sequence.prompt_tokens, ended->generated};
    std::string_view rest{};
    if (reason != FinishReason::callback && ended->text) {
      // What no further token can complete, unless a stop string holds it back.
      if (auto tail = ended->text->finish())
        if (auto sure = ended->stops.feed(*tail)) rest = *sure;
      if (rest.empty()) rest = ended->stops.rest();
    }
    if (reason != FinishReason::callback) (void)on_token(ended->id, Token{.text = rest, .finish = reason});
  }

  /// Hands the token of `row` to its request and decides whether the request goes on.
  template <class F> [[nodiscard]] Result<void> take_token(std::size_t index, std::size_t row, F& on_token) noexcept {
    ActiveRequest& a = *active_[index];
    std::int32_t id = kNoToken;
    if (auto r = executor_->read(exec::port::kToken, row * sizeof id, std::as_writable_bytes(std::span(&id, 1))); !r)
      return r;
    if (id < 0) return fail(Errc::spec_violation, "the sampler chose no token");
    if (!a.best.empty()) {
      if (auto r = read_logits(row); !r) return r;
      const RoundingMode rounding;
      log_probabilities(logits_.span(), a.best.span());
    }
    if (a.max_tokens == 0) {
      finish(index, FinishReason::length, on_token);
      return {};
    }
    if (auto r = a.sequence.tokens.push_back(static_cast<std::uint32_t>(id)); !r) return r;
    ++a.generated;
    bool ends = !a.ignore_eos && tokenizer_ && tokenizer_->is_end_of_generation(id);
    for (std::int32_t stop : a.stop_tokens) ends = ends || stop == id;
    Token token{.id = id, .best = a.best.span()};
    if (a.text && !ends) {
      auto piece = a.text->feed(id);
      if (!piece) return pass(piece);
      auto sure = a.stops.feed(*piece);
      if (!sure) return pass(sure);
      token.text = *sure;
    }
    const RequestId request = a.id;
    if (!on_token(request, static_cast<const Token&>(token)))
      finish(index, FinishReason::callback, on_token);
    else if (ends)
      finish(index, FinishReason::stop_token, on_token);
    else if (a.stops.matched())
      finish(index, FinishReason::stop_string, on_token);
    else if (a.generated >= a.max_tokens)
      finish(index, FinishReason::length, on_token);
    else if (a.sequence.tokens.size() > context_)
      finish(index, FinishReason::context, on_token);
    return {};
  }

  [[nodiscard]] Result<void> read_logits(std::size_t row) noexcept {
    return executor_->read(exec::port::kLogits, std::uint64_t{row} * config_.vocabulary * sizeof(float),
                           std::as_writable_bytes(logits_.span()));
  }

  [[nodiscard]] Result<void> feed(serve::Sequence& sequence, std::int32_t token) const noexcept {
    if (token < 0 || static_cast<std::uint32_t>(token) >= config_.vocabulary)
      return fail(Errc::invalid_argument, "token ", token, " is outside the vocabulary of ", config_.vocabulary);
    return sequence.tokens.push_back(static_cast<std::uint32_t>(token));
  }

  template <class F>
  [[nodiscard]] Result<void> evaluate_in_slot(serve::Sequence& sequence, std::size_t steps, F& choose) noexcept {
    if (auto r = slots_->reserve(sequence.slot, static_cast<std::uint32_t>(sequence.tokens.size() + steps)); !r)
      return r;
    serve::Sequence* const alone[] = {&sequence};
    for (std::size_t left = steps;; --left) {
      std::int32_t next = kNoToken;
      while (sequence.processed < sequence.tokens.size()) {
        const exec::Batch batch = planner_->plan(alone, slots_->pages());
        if (auto r = executor_->step(batch); !r) return pass(r);
        for (std::size_t row = 0; row < planner_->origins().size(); ++row) {
          if (auto r = read_logits(row); !r) return r;
          next = choose(planner_->origins()[row].position, std::span<const float>(logits_.span()));
        }
      }
      if (left == 0) return {};
      if (auto r = feed(sequence, next); !r) return r;
    }
  }

  model::GgufFile file_;
  EngineOptions options_;
  model::Config config_{};
  Vocabulary vocabulary_;
  std::optional<text::Tokenizer> tokenizer_;
  plan::CompiledPlan compiled_;
  TensorCopies copies_;
  Owned<exec::ThreadPool> pool_;
  typename B::Device device_{};
  std::optional<exec::Executor<B>> executor_;
  std::optional<serve::SlotTable<B>> slots_;
  std::optional<serve::BatchPlanner> planner_;
  std::uint32_t context_ = 0;

  Vector<Owned<ActiveRequest>> active_;   ///< by slot
  Vector<Owned<ActiveRequest>> planned_;  ///< waiting for a slot, oldest first
  Vector<serve::Sequence*> sequences_;
  std::size_t running_ = 0;
  std::size_t waiting_ = 0;
  Completion last_completion_{};

  Mutex mutex_;
  Vector<Owned<ActiveRequest>> inbox_;
  Vector<RequestId> cancels_;    ///< notes of cancellation
  Vector<RequestId> cancelled_;  ///< those that a step has taken over
  std::atomic<bool> mail_{false};
  std::atomic<std::uint64_t> next_id_{1};
  Vector<float> logits_;
};

}  // namespace zrt::inline ZRT_ABI::detail
