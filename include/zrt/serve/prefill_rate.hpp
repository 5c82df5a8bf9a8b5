// SPDX-License-Identifier: Apache-2.0
// zrt/serve/prefill_rate.hpp: the measured time of a token in steps with prompt tokens.
#pragma once

#include <zrt/core/kv_pages.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// Follows the machine, its load and the depth of the contexts. It only moves the cuts of prompts, so it changes no bit
/// of a result.
class PrefillRate {
 public:
  /// Takes in a step of `tokens` tokens that took `nanoseconds`.
  ///
  /// Steps of fewer than 16 tokens count only where they show that a token takes less than was known: the fixed cost of a
  /// step would pass for their rate.
  void learn(std::uint32_t tokens, std::uint64_t nanoseconds) noexcept {
    if (tokens == 0 || nanoseconds == 0) return;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 60;  // four of them can be added
    const std::uint64_t sample = (nanoseconds < kMost ? nanoseconds : kMost) / tokens + 1;
    if (tokens < 16 && sample >= per_token_) return;
    per_token_ = per_token_ == 0 ? sample : (3 * per_token_ + sample) / 4;
  }

  [[nodiscard]] bool known() const noexcept { return per_token_ != 0; }
  /// Tokens that are expected to take `nanoseconds`; 0 while nothing is known.
  [[nodiscard]] std::uint64_t tokens_within(std::uint64_t nanoseconds) const noexcept {
    return per_token_ == 0 ? 0 : nanoseconds / per_token_;
  }
  /// Of at most `most` prompt tokens so many, whole pages if there is one, that a step in which `decoding` more tokens are
  /// read keeps within `latency`; 0 is no bound. While nothing is known, a page.
  [[nodiscard]] std::uint32_t room(std::uint64_t latency, std::uint32_t decoding, std::uint32_t most) const noexcept {
    if (latency == 0) return most;
    if (!known()) return kPageTokens;
    const std::uint64_t within = tokens_within(latency);
    const std::uint64_t left = within < decoding ? 0 : within - decoding;
    const std::uint64_t timely = left < kPageTokens ? left : left / kPageTokens * kPageTokens;
    return timely < most ? static_cast<std::uint32_t>(timely) : most;
  }

 private:
  std::uint64_t per_token_ = 0;  ///< nanoseconds
};

}  // namespace zrt::inline ZRT_ABI::serve
