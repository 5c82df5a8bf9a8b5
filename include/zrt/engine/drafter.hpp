// SPDX-License-Identifier: Apache-2.0
// zrt/engine/drafter.hpp: guesses for the tokens that a step draws.
#pragma once

#include <zrt/engine/serving.hpp>
#include <zrt/serve/ngram_draft.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Guesses the next tokens of the slots that decode, which share a step's drafts.
template <class B> class Drafter {
 public:
  Drafter(Serving<B>& serving, const Allocator& allocator) noexcept : serving_(serving), drafts_(allocator) {}

  /// Makes room for steps with at most `most` drafts; 0: it guesses nothing.
  [[nodiscard]] Result<void> reserve(std::uint32_t slots, std::uint32_t most) noexcept {
    most_ = most;
    return drafts_.resize(most == 0 ? 0 : slots);
  }

  /// The drafts of the next step, by slot.
  [[nodiscard]] Span<const serve::Draft> draft() noexcept {
    const Span<const serve::SlotRow> slots = serving_.scheduler().state().slots.span();
    std::uint32_t decoding = 0;
    for (const serve::SlotRow& row : slots) decoding += row.stage == serve::SlotStage::decode ? 1u : 0u;
    const std::uint32_t share = decoding == 0 ? 0 : most_ / decoding;
    for (std::uint32_t slot = 0; slot < drafts_.size(); ++slot) {
      drafts_[slot] = {};
      if (slots[slot].stage == serve::SlotStage::decode) drafts_[slot] = draft(*serving_.in_slot(slot), share);
    }
    return drafts_.span();
  }

 private:
  /// A request with log-probabilities gets one token a step: they are of one row.
  [[nodiscard]] static serve::Draft draft(ActiveRequest& a, std::uint32_t most) noexcept {
    if (most == 0 || !a.best.empty()) return {};
    const std::uint32_t length = a.draft_length.next();
    const auto found = serve::ngram_draft(a.sequence.tokens.span(), length < most ? length : most);
    return {found.data(), static_cast<std::uint32_t>(found.size())};
  }

  Serving<B>& serving_;
  Vector<serve::Draft> drafts_;
  std::uint32_t most_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::detail
