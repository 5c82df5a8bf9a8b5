// SPDX-License-Identifier: Apache-2.0
// zrt/engine/drafter.hpp: guesses for the tokens that a step draws.
#pragma once

#include <zrt/engine/draft_model.hpp>
#include <zrt/serve/ngram_draft.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::detail {

/// Guesses the next tokens of the slots that decode, which share a step's drafts: from a request's own text, where that
/// says nothing from its tenant's last ones, and where those say nothing by a draft model, if there is one. Measured times
/// say how many guesses pay.
template <class B, class Model> class Drafter {
 public:
  Drafter(Serving<B>& serving, const Allocator& allocator) noexcept : serving_(serving), drafts_(allocator) {}

  /// Makes room for steps with at most `most` drafts; 0: it guesses nothing.
  [[nodiscard]] Result<void> reserve(std::uint32_t slots, std::uint32_t most) noexcept {
    most_ = most;
    return drafts_.resize(most == 0 ? 0 : slots);
  }
  /// Takes a model that guesses too.
  void take(DraftModel<B, Model> model) noexcept { model_.emplace(std::move(model)); }
  [[nodiscard]] DraftModel<B, Model>* model() noexcept { return model_ ? &*model_ : nullptr; }

  [[nodiscard]] bool guesses() const noexcept { return most_ != 0; }
  /// Takes in how long a step of `tokens` took that read no prompt.
  void learn(std::uint32_t tokens, std::uint64_t nanoseconds) noexcept {
    times_.learn(tokens, serving_.drafted(), nanoseconds);
  }

  /// The drafts of the next step, by slot. Where `stop` ends the making of them halfway there are fewer.
  [[nodiscard]] Span<const serve::Draft> draft(const ClockHook& clock, const exec::StopPoll& stop) noexcept {
    for (serve::Draft& draft : drafts_) draft = {};
    std::uint32_t decoding = 0;
    std::uint64_t latency = 0;
    bool prompts = serving_.has_arrivals();
    for (std::uint32_t slot = 0; slot < drafts_.size(); ++slot) {
      decoding += decodes(slot) ? 1u : 0u;
      prompts = prompts || Planner::can_prefill(serving_.scheduler().state(), slot);
      const ActiveRequest* const a = serving_.in_slot(slot);
      const std::uint64_t own = a == nullptr ? 0 : a->sequence.step_latency_ns;
      if (own != 0 && (latency == 0 || own < latency)) latency = own;
      if (model_) model_->begin(slot, serving_.scheduler().state().slots[slot].request);
    }
    if (decoding == 0 || prompts || times_.wants_plain()) return drafts_.span();
    serve::DraftPay pay(times_, decoding);
    for (std::uint32_t slot = 0; slot < drafts_.size(); ++slot)
      if (decodes(slot)) draft(slot, most_ / decoding, pay);
    if (!model_) return drafts_.span();
    model_->guess(clock, stop, latency, times_);
    for (std::uint32_t slot = 0; slot < drafts_.size(); ++slot)
      if (drafts_[slot].count == 0) drafts_[slot] = model_->draft(slot);
    return drafts_.span();
  }

 private:
  using Planner = serve::RunPlanner<serve::AllRules>;

  [[nodiscard]] bool decodes(std::uint32_t slot) noexcept {
    return Planner::can_decode(serving_.scheduler().state(), slot);
  }
  /// A request with log-probabilities gets one token a step: they are of one row.
  void draft(std::uint32_t slot, std::uint32_t most, serve::DraftPay& pay) noexcept {
    ActiveRequest& a = *serving_.in_slot(slot);
    if (most == 0 || !a.best.empty()) return;
    const std::uint32_t length = a.ngram_luck.next();
    const std::uint32_t tokens = length < most ? length : most;
    auto found = serve::ngram_draft(a.sequence.tokens.span(), tokens);
    if (found.empty()) found = serving_.said_before(a, tokens);
    const std::uint32_t count = pay.take(a.ngram_luck, static_cast<std::uint32_t>(found.size()));
    a.model_guesses = count == 0;
    if (count != 0) {
      drafts_[slot] = {found.data(), count};
      return;
    }
    const std::uint32_t left = a.max_tokens - a.generated;
    if (!model_ || !a.sequence.given.empty() || left < 2) return;
    const std::uint32_t tries = a.model_luck.next();
    std::uint32_t wanted = tries < most ? tries : most;
    wanted = wanted < left - 1 ? wanted : left - 1;
    model_->want(slot, pay.take(a.model_luck, model_->room(slot, a, wanted), true));
  }

  Serving<B>& serving_;
  Vector<serve::Draft> drafts_;
  std::optional<DraftModel<B, Model>> model_;
  serve::DraftTimes times_{};
  std::uint32_t most_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::detail
