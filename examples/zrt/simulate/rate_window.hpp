// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate/rate_window.hpp: a witness's own count of the tokens that a tenant was granted in any 5 s.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace simulate {

class RateWindow {
 public:
  void give_back(std::uint32_t tokens) {
    for (auto grant = grants_.rbegin(); grant != grants_.rend() && tokens != 0; ++grant) {
      const std::uint32_t back = std::min(grant->tokens, tokens);
      grant->tokens -= back;
      sum_ -= back;
      tokens -= back;
    }
  }
  /// Counts tokens; returns all of the last 5 s.
  std::uint64_t add(std::uint64_t now, std::uint32_t tokens) {
    while (!grants_.empty() && grants_.front().time + 5'000'000'000u <= now) {
      sum_ -= grants_.front().tokens;
      grants_.pop_front();
    }
    grants_.push_back({now, tokens});
    return sum_ += tokens;
  }

 private:
  struct Grant {
    std::uint64_t time;
    std::uint32_t tokens;
  };

  std::deque<Grant> grants_{};
  std::uint64_t sum_ = 0;
};

}  // namespace simulate
