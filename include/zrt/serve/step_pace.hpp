// SPDX-License-Identifier: Apache-2.0
// zrt/serve/step_pace.hpp: how many prompt tokens a step may read in a given time.
#pragma once

#include <zrt/core/kv_pages.hpp>
#include <zrt/serve/step_times.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Follows the machine, its load and the depth of the contexts: a step takes what it takes without prompts, and a time
/// for each prompt token. It only moves the cuts of prompts, so it changes no bit of a result.
class StepPace {
 public:
  /// Takes in a step of `prompt` tokens of prompts and `others` that took `nanoseconds`.
  ///
  /// What the others took may be known of larger steps alone, so a prompt's token counts as half of a token's part of the
  /// whole step at the least.
  /// Fewer than 16 tokens of prompts count only where they show that one takes less than was known: what the others took
  /// is not known that well.
  void learn(std::uint32_t others, std::uint32_t prompt, std::uint64_t nanoseconds) noexcept {
    if (nanoseconds == 0) return;
    if (prompt == 0) return plain_.learn(others, nanoseconds);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 60;  // four of them can be added
    const std::uint64_t time = nanoseconds < kMost ? nanoseconds : kMost;
    const std::uint64_t base = of_others(others);
    const std::uint64_t own = (time > base ? time - base : 0) / prompt;
    const std::uint64_t half = time / 2 / (std::uint64_t{others} + prompt);
    std::uint64_t sample = (own > half ? own : half) + 1;
    // The machine had something else to do, or the clock jumped; small times must be able to grow.
    constexpr std::uint64_t kGrowth = 4;
    if (per_token_ != 0 && sample > 2 * per_token_ + kGrowth) sample = 2 * per_token_ + kGrowth;
    if (prompt < kPageTokens && sample >= per_token_) return;
    per_token_ = per_token_ == 0 ? sample : (3 * per_token_ + sample) / 4;
  }

  /// Prompt tokens beside `others` with which a step keeps within `nanoseconds`, 0 is no bound: at most `most`, and whole
  /// pages if there is one. While nothing is known, a page.
  [[nodiscard]] std::uint32_t within(std::uint64_t nanoseconds, std::uint32_t others,
                                     std::uint32_t most) const noexcept {
    if (nanoseconds == 0) return most;
    const std::uint64_t base = of_others(others);
    return tokens(nanoseconds > base ? nanoseconds - base : 0, kPageTokens, most);
  }
  /// Prompt tokens that make a step longer by at most `nanoseconds`, 0 is no bound. While nothing is known, two pages.
  [[nodiscard]] std::uint32_t beside(std::uint64_t nanoseconds) const noexcept {
    return nanoseconds == 0 ? ~0u : tokens(nanoseconds, 2 * kPageTokens, ~0u);
  }

 private:
  [[nodiscard]] std::uint64_t of_others(std::uint32_t others) const noexcept {
    return others == 0 ? 0 : plain_.of(others);
  }
  [[nodiscard]] std::uint32_t tokens(std::uint64_t nanoseconds, std::uint32_t unknown,
                                     std::uint32_t most) const noexcept {
    const std::uint64_t timely = per_token_ == 0 ? unknown : nanoseconds / per_token_;
    const std::uint64_t whole = timely < kPageTokens ? timely : timely / kPageTokens * kPageTokens;
    return whole < most ? static_cast<std::uint32_t>(whole) : most;
  }

  StepTimes plain_;              ///< of steps without prompts
  std::uint64_t per_token_ = 0;  ///< nanoseconds of a prompt's token
};

}  // namespace zrt::inline ZRT_ABI::serve
