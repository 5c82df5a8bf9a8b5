// SPDX-License-Identifier: Apache-2.0
// zrt/serve/draft_pay.hpp: whether guessed tokens give more than the time that they take.
#pragma once

#include <zrt/serve/draft_length.hpp>
#include <zrt/serve/step_times.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// The measured times of steps that decode: what a step that checks guesses costs against as many single steps. Times that
/// a host injects move the number of guesses, and no token of an answer.
class DraftTimes {
 public:
  /// Takes in a step of `tokens`, of which `drafted` were guesses.
  void learn(std::uint32_t tokens, std::uint32_t drafted, std::uint64_t nanoseconds) noexcept {
    if (nanoseconds == 0) return;
    (drafted == 0 ? plain_ : checking_).learn(tokens, nanoseconds);
    since_plain_ = drafted == 0 ? 0 : since_plain_ + 1;
    since_checking_ = drafted == 0 ? since_checking_ + 1 : 0;
    known_ = known_ || drafted == 0;
  }
  /// Takes in what it took another model to make a guess for each of some slots.
  void learn_guess(std::uint64_t nanoseconds) noexcept { guess_.learn(1, nanoseconds); }

  /// Whether there is a measure of single steps. Without one, a request's luck alone counts.
  [[nodiscard]] bool known() const noexcept { return known_; }
  /// Whether that measure is so old that the next step should have no guesses.
  [[nodiscard]] bool wants_plain() const noexcept { return known_ && since_plain_ >= kPlainEvery; }
  /// Whether the measure of steps with guesses is so old that one should be made, however little it promises.
  [[nodiscard]] bool wants_checking() const noexcept { return since_checking_ >= kCheckingEvery; }
  /// A step of `tokens` without guesses.
  [[nodiscard]] std::uint64_t plain(std::uint32_t tokens) const noexcept { return plain_.of(tokens); }
  /// A step of `tokens` with some; where no such step was measured it is thought as fast as one without.
  [[nodiscard]] std::uint64_t checking(std::uint32_t tokens) const noexcept {
    const std::uint64_t time = checking_.of(tokens);
    return time != 0 ? time : plain_.of(tokens);
  }
  /// What it takes another model to make `guesses`, one behind the other.
  [[nodiscard]] std::uint64_t guessing(std::uint32_t guesses) const noexcept { return guess_.of(1) * guesses; }

 private:
  static constexpr std::uint32_t kPlainEvery = 64;
  static constexpr std::uint32_t kCheckingEvery = 512;

  StepTimes plain_{};
  StepTimes checking_{};
  StepTimes guess_{};
  std::uint32_t since_plain_ = 0;
  std::uint32_t since_checking_ = 0;
  bool known_ = false;
};

/// Deals out guesses to the slots of one step, as many as make its tokens come faster.
class DraftPay {
 public:
  /// For a step in which `decoding` slots draw a token.
  DraftPay(const DraftTimes& times, std::uint32_t decoding) noexcept
      : times_(times), decoding_(decoding), rows_(decoding), tokens_(decoding * std::uint64_t{DraftLength::kSure}) {}

  /// How many of `found` guesses a slot should read; `made` ones are still to be made, by another model. A request whose
  /// guesses do not pay begins a pause.
  ///
  /// With n guesses a step has n rows more and takes longer; a fast machine with slots to spare takes hardly longer at
  /// all. So it counts tokens by time: those expected of the step, by what it is expected to take.
  [[nodiscard]] std::uint32_t take(DraftLength& luck, std::uint32_t found, bool made = false) noexcept {
    if (found == 0) return 0;
    std::uint32_t count = found;
    if (times_.known() && luck.probes()) {
      // A guess behind a pause shows how often guesses are right. It is spared where not even right ones would pay.
      const auto sure = [](std::uint32_t guesses) { return guesses * DraftLength::kSure; };
      if (!times_.wants_checking() && best(kTried, made, sure) == 0) count = 0;
    } else if (times_.known()) {
      count = best(found, made, [&luck](std::uint32_t guesses) { return luck.expected(guesses); });
    } else if (luck.missed() && !luck.probes()) {
      count = 0;
    }
    if (count == 0) {
      luck.rest();
      return 0;
    }
    if (!luck.probes()) luck.go_on();
    tokens_ += luck.expected(count);
    rows_ += count;
    if (made && count > made_) made_ = count;
    return count;
  }

 private:
  /// How many guesses give the most tokens by time, of which `expected` become tokens; 0 where none do.
  template <class F>
  [[nodiscard]] std::uint32_t best(std::uint32_t found, bool made, const F& expected) const noexcept {
    std::uint64_t tokens = tokens_;
    std::uint64_t time = (rows_ == decoding_ ? times_.plain(rows_) : times_.checking(rows_)) + times_.guessing(made_);
    std::uint32_t best = 0;
    for (std::uint32_t count = 1; count <= found; ++count) {
      const std::uint64_t more = tokens_ + expected(count);
      // Slots make theirs together.
      const std::uint64_t longer =
          times_.checking(rows_ + count) + times_.guessing(made && count > made_ ? count : made_);
      if (more * time <= tokens * longer) continue;
      best = count;
      tokens = more;
      time = longer;
    }
    return best;
  }

  static constexpr std::uint32_t kTried = 8;

  const DraftTimes& times_;
  std::uint32_t decoding_;
  std::uint32_t rows_;
  std::uint64_t tokens_;    ///< expected of the step, in 1 / DraftLength::kSure
  std::uint32_t made_ = 0;  ///< guesses of the slot that has most of another model
};

}  // namespace zrt::inline ZRT_ABI::serve
