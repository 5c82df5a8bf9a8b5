// SPDX-License-Identifier: Apache-2.0
// zrt/engine/step_outcomes.hpp: what came of each run of a step: its token, its end or its fault.
#pragma once

#include <zrt/core/rounding_mode.hpp>
#include <zrt/engine/callables.hpp>
#include <zrt/engine/choose_within.hpp>
#include <zrt/engine/delivery.hpp>
#include <zrt/engine/log_probabilities.hpp>
#include <zrt/engine/serving.hpp>
#include <zrt/exec/run_observer.hpp>
#include <zrt/serve/batch_planner.hpp>

#include <utility>

namespace zrt::inline ZRT_ABI::detail {

/// Reads what a step of `model`, an OpenModel, computed for the requests in its runs.
template <class B, class O, class Model> class StepOutcomes {
 public:
  StepOutcomes(Model& model, Serving<B>& serving, const Allocator& allocator) noexcept
      : model_(model),
        serving_(serving),
        outcomes_(allocator),
        run_of_(allocator),
        faults_(allocator),
        logits_(allocator),
        candidates_(allocator),
        bytes_(allocator) {}

  /// Makes room for the runs of a step.
  [[nodiscard]] Result<void> reserve(std::uint32_t slots, std::size_t vocabulary, const Allocator& allocator) noexcept {
    auto faults = exec::SlotFaults::make(slots, allocator);
    if (!faults) return pass(faults);
    faults_ = std::move(*faults);
    if (auto r = outcomes_.resize(slots); !r) return r;
    if (auto r = run_of_.resize(slots); !r) return r;
    return logits_.resize(vocabulary);
  }

  /// Notes the runs that a step is about to compute.
  void begin(const serve::StepPlan& plan) noexcept {
    for (std::size_t i = 0; i < plan.runs.size(); ++i) run_of_[plan.runs[i].slot] = static_cast<std::uint32_t>(i);
  }
  /// Whether the step has rows of prompts that are told.
  [[nodiscard]] bool tells_prompts(const serve::StepPlan& plan) noexcept {
    for (const serve::PlannedRun& run : plan.runs)
      if (!run.decode && serving_.request(run.request)->sequence.tells()) return true;
    return false;
  }
  /// Notes what came of each run, and tells tokens of prompts. A failing request must not cost others their tokens: all
  /// are noted before the error is returned.
  [[nodiscard]] Result<void> take(const serve::StepPlan& plan, Span<const serve::RowOrigin> origins,
                                  const OnToken& on_token) noexcept {
    for (std::size_t i = 0; i < plan.runs.size(); ++i) outcomes_[i] = check_run(plan.runs[i]);
    Result<void> taken{};
    for (std::size_t row = 0; row < origins.size(); ++row) {
      const std::uint32_t index = run_of_[origins[row].sequence];
      const std::uint32_t position = origins[row].position;
      Result<void> r = tell_prompt(plan.runs[index], position, row, outcomes_[index], on_token);
      if (r) r = take_row(plan.runs[index], position, row, outcomes_[index]);
      if (!r && taken) taken = r;
    }
    for (std::size_t i = 0; i < plan.runs.size(); ++i)
      if (plan.runs[i].drafts != 0) take_drafts(plan.runs[i], outcomes_[i]);
    return taken;
  }

  /// Of the first `runs` of the step.
  [[nodiscard]] Span<const serve::Outcome> first(std::size_t runs) const noexcept {
    return outcomes_.span().first(runs);
  }
  [[nodiscard]] exec::SlotFaults& faults() noexcept { return faults_; }
  /// Room for one row.
  [[nodiscard]] Span<float> logits() noexcept { return logits_.span(); }

 private:
  /// A run's outcome before its token: whether its data broke an op's contract. Keeps the state behind it.
  [[nodiscard]] serve::Outcome check_run(const serve::PlannedRun& run) noexcept {
    serve::Outcome outcome;
    ActiveRequest& a = *serving_.request(run.request);
    if (auto fault = faults_.of(run.slot, model_.plan().plan, &model_.op_rows()); !fault) {
      outcome.again = run.drafts != 0;
      if (!outcome.again) fail_run(a, fault.error(), outcome);
    } else if (run.save != serve::kNone) {
      if (auto r = serving_.keep(run); !r) fail_run(a, r.error(), outcome);
    }
    return outcome;
  }
  void fail_run(ActiveRequest& a, const Error& error, serve::Outcome& outcome) noexcept {
    model_.options().log(LogLevel::error, error.text());
    a.finish = FinishReason::failed;
    a.error = error;
    outcome.failed = true;
  }

  /// Tells the token of the prompt behind the row at `position`, where that is wanted, and before it the first. A callable
  /// that wants no more ends the request.
  [[nodiscard]] Result<void> tell_prompt(const serve::PlannedRun& run, std::uint32_t position, std::size_t row,
                                         serve::Outcome& outcome, const OnToken& on_token) noexcept {
    ActiveRequest& a = *serving_.request(run.request);
    if (a.prompt_best.empty() || outcome.failed) return {};
    const auto tell = [&](const Token& token) {
      if (on_token(a.id, token)) return true;
      a.finish = FinishReason::callback;
      outcome.failed = true;
      return false;
    };
    const Span<const std::uint32_t> tokens = a.sequence.tokens.span();
    if (!std::exchange(a.told_first, true) && !tell({.id = static_cast<std::int32_t>(tokens[0]), .in_prompt = true}))
      return {};
    if (position < a.sequence.told || position >= a.sequence.scored) return {};
    if (auto r = read_logits(row); !r) {
      fail_run(a, r.error(), outcome);
      return r;
    }
    const std::uint32_t next = tokens[position + 1];
    Token token{.id = static_cast<std::int32_t>(next), .best = a.prompt_best.span(), .in_prompt = true};
    {
      const RoundingMode rounding;
      token.log_probability = logits_[next] - log_probabilities(logits_.span(), a.prompt_best.span());
    }
    a.sequence.told = position + 1;
    (void)tell(token);
    return {};
  }
  /// Copies a row's logits to `logits_`.
  [[nodiscard]] Result<void> read_logits(std::size_t row) noexcept {
    const std::uint64_t offset = std::uint64_t{row} * logits_.size() * sizeof(float);
    return model_.executor().read(exec::port::kLogits, offset, as_writable_bytes(logits_.span()));
  }

  /// Takes the token of `row`, which stands at `position`, where the row is of the run's text: behind a draft that the
  /// sampler did not draw, it is of another.
  [[nodiscard]] Result<void> take_row(const serve::PlannedRun& run, std::uint32_t position, std::size_t row,
                                      serve::Outcome& outcome) noexcept {
    const std::uint32_t at = run.count - run.drafts - 1 + outcome.accepted;
    if (!run.sample || outcome.failed || outcome.again || position != run.begin + at) return {};
    const bool guesses = outcome.accepted < run.drafts;
    const std::uint32_t guess = guesses ? run.tokens[at + 1] : 0;  // the token is written over it
    ActiveRequest& a = *serving_.request(run.request);
    if (auto r = take_token(a, row, outcome); !r) {
      fail_run(a, r.error(), outcome);
      return r;
    }
    if (outcome.failed && outcome.accepted != 0) {
      fail_later(a, run.tokens[at], outcome);
      return {};
    }
    const bool goes_on = !outcome.failed && !outcome.last && !outcome.empty;
    if (guesses && goes_on && outcome.token == guess) ++outcome.accepted;
    return {};
  }
  /// A fault behind accepted drafts, the last of which is `token`, waits for a step of its own: without drafts, the
  /// request would have told the tokens before it.
  static void fail_later(ActiveRequest& a, std::uint32_t token, serve::Outcome& outcome) noexcept {
    const std::uint32_t accepted = outcome.accepted - 1;
    outcome = {};
    outcome.token = token;
    outcome.accepted = accepted;
    a.finish = FinishReason::none;
    a.error.reset();
  }
  /// Takes a sequence back behind the drafts that are its tokens.
  void take_drafts(const serve::PlannedRun& run, const serve::Outcome& outcome) noexcept {
    ActiveRequest& a = *serving_.request(run.request);
    a.sequence.processed = outcome.again ? run.begin : run.begin + run.count - run.drafts + outcome.accepted;
    a.sequence.drafts = 0;
    if (outcome.again)
      a.luck().rest();
    else
      a.luck().learn(run.drafts, outcome.accepted);
  }

  /// Reads the token of `row` for its request.
  [[nodiscard]] Result<void> take_token(ActiveRequest& a, std::size_t row, serve::Outcome& outcome) noexcept {
    if (a.max_tokens == 0) {
      a.finish = FinishReason::length;
      outcome.empty = true;
      return {};
    }
    std::int32_t id = kNoToken;
    const auto token_bytes = as_writable_bytes(Span(&id, 1));
    if (auto r = model_.executor().read(exec::port::kToken, row * sizeof id, token_bytes); !r) return r;
    if (id < 0) {
      fail_run(a, Error::of(Errc::spec_violation, "the sampler found no token that may be drawn"), outcome);
      return {};
    }
    float total = 0.0f;
    if (exec::WatchesRuns<O> || !a.best.empty() || a.matcher) {
      if (auto r = read_logits(row); !r) return r;
      if constexpr (exec::WatchesRuns<O>)
        model_.observer().sampled(static_cast<std::uint32_t>(row), id, logits_.span());
      const RoundingMode rounding;
      if (!a.best.empty()) total = log_probabilities(logits_.span(), a.best.span());
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
    if (!a.best.empty()) {
      // Read again: a grammar's choice has changed the row.
      float logit = 0.0f;
      const std::uint64_t at = (std::uint64_t{row} * logits_.size() + static_cast<std::uint64_t>(id)) * sizeof logit;
      const auto logit_bytes = as_writable_bytes(Span(&logit, 1));
      if (auto r = model_.executor().read(exec::port::kLogits, at, logit_bytes); !r) return r;
      const RoundingMode rounding;
      delivery->token.log_probability = logit - total;
    }
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

  Model& model_;
  Serving<B>& serving_;
  Vector<serve::Outcome> outcomes_;
  Vector<std::uint32_t> run_of_;       ///< by slot
  exec::SlotFaults faults_;            ///< of the step
  Vector<float> logits_;               ///< one row
  Vector<ops::Candidate> candidates_;  ///< as many, once a request has a grammar
  String bytes_;                       ///< of the token chosen last within a grammar
};

}  // namespace zrt::inline ZRT_ABI::detail
