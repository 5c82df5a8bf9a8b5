// SPDX-License-Identifier: Apache-2.0
// zrt/serve/draft_length.hpp: a request's luck with drafts: how many tokens to guess for it, and when to stop guessing.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// Follows how often guesses are right. Whether they pay is DraftPay's to say; where they do not, the request gets none in
/// a pause, twice as long as the last, of 64 steps at most, and then one guess that shows whether that has changed. It
/// changes no token of an answer, only how many of them a step gives.
class DraftLength {
 public:
  static constexpr std::uint32_t kSure = 256;  ///< a probability of 1

  /// Most tokens to guess in this step; 0 in a pause. Call it once in a step.
  [[nodiscard]] std::uint32_t next() noexcept {
    if (pause_ == 0) return probes_ ? 1 : length_;
    --pause_;
    return 0;
  }
  /// Whether the guess behind a pause is due, which is made even if it does not seem to pay.
  [[nodiscard]] bool probes() const noexcept { return probes_ && pause_ == 0; }
  /// Whether the last draft was wrong at once.
  [[nodiscard]] bool missed() const noexcept { return missed_; }

  /// Tokens, in 1 / kSure, by which a draft of `drafted` makes a step longer: each is right as often as those before, if
  /// all before it are.
  [[nodiscard]] std::uint32_t expected(std::uint32_t drafted) const noexcept {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0, all = kSure; i < drafted; ++i) sum += all = all * right_ / kSure;
    return sum;
  }

  /// Takes in what came of a draft: the next one may have twice as many after one that was right to its end, and one more
  /// than were right after another.
  void learn(std::uint32_t drafted, std::uint32_t accepted) noexcept {
    for (std::uint32_t i = 0; i < accepted; ++i) right_ += (kSure - right_) / kInertia;
    if (accepted < drafted) right_ -= (right_ + kInertia - 1) / kInertia;
    const std::uint32_t wanted = accepted < drafted ? accepted + 1 : 2 * drafted;
    length_ = wanted < kMost ? wanted : kMost;
    missed_ = accepted == 0;
    probes_ = false;
  }
  /// Guesses pay: the next pause is short again.
  void go_on() noexcept { last_pause_ = 0; }
  /// Begins a pause with the next step.
  void rest() noexcept {
    last_pause_ = last_pause_ == 0 ? 1 : 2 * last_pause_ < kLongestPause ? 2 * last_pause_ : kLongestPause;
    pause_ = last_pause_;
    probes_ = true;
  }

 private:
  static constexpr std::uint32_t kMost = 64;
  static constexpr std::uint32_t kLongestPause = 64;
  static constexpr std::uint32_t kInertia = 8;

  std::uint32_t length_ = 2;
  std::uint32_t right_ = kSure * 5 / 8;
  std::uint32_t pause_ = 0;
  std::uint32_t last_pause_ = 0;
  bool probes_ = false;
  bool missed_ = false;
};

}  // namespace zrt::inline ZRT_ABI::serve
