// SPDX-License-Identifier: Apache-2.0
// zrt/serve/draft_length.hpp: how many tokens it pays to guess for a request.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// Follows a request's luck with drafts: twice as many after a draft that was right to its end, as many as were right
/// after another. A draft that was wrong at once is followed by a pause, twice as long as the last, of 64 steps at most.
/// It changes no token of an answer, only how many of them a step gives.
class DraftLength {
 public:
  /// Tokens to guess in this step; 0 in a pause.
  [[nodiscard]] std::uint32_t next() noexcept {
    if (pause_ == 0) return length_;
    --pause_;
    return 0;
  }

  /// Takes in what came of a draft.
  void learn(std::uint32_t drafted, std::uint32_t accepted) noexcept {
    if (accepted == 0) return rest();
    last_pause_ = 0;
    length_ = accepted < drafted ? accepted : 2 * drafted < kMost ? 2 * drafted : kMost;
  }

  /// Begins a pause.
  void rest() noexcept {
    length_ = 1;
    last_pause_ = last_pause_ == 0 ? 1 : 2 * last_pause_ < kLongestPause ? 2 * last_pause_ : kLongestPause;
    pause_ = last_pause_;
  }

 private:
  static constexpr std::uint32_t kMost = 64;
  static constexpr std::uint32_t kLongestPause = 64;

  std::uint32_t length_ = 2;
  std::uint32_t pause_ = 0;
  std::uint32_t last_pause_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::serve
