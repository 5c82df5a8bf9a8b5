// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate/rate_window.hpp: a witness's own count of the tokens that a tenant was granted in any 5 s.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace simulate {

class RateWindow {
 public:
  void give_back(std::uint64_t now, std::uint32_t tokens) {
    forget(now);
    for (std::size_t i = grants_.size(); i-- > 0 && tokens != 0;) {
      const std::uint32_t back = std::min(grants_[i].tokens, tokens);
      grants_[i].tokens -= back;
      held_ -= back;
      if (i >= exact_) sum_ -= back;
      tokens -= back;
    }
  }
  /// Counts tokens; returns all of the last 5 s.
  std::uint64_t add(std::uint64_t now, std::uint32_t tokens) {
    forget(now);
    grants_.push_back({now, tokens});
    held_ += tokens;
    return sum_ += tokens;
  }
  /// Tokens that a tenant may still have: it counts by tenths of a second, of which the newest has only begun.
  std::uint64_t room(std::uint64_t now, std::uint32_t rate) {
    forget(now);
    const std::uint64_t most = std::uint64_t{5} * rate;
    return rate == ~0u ? ~std::uint64_t{0} : most - std::min(most, held_);
  }

 private:
  struct Grant {
    std::uint64_t time;
    std::uint32_t tokens;
  };
  static constexpr std::uint64_t kTenth = 100'000'000;

  void forget(std::uint64_t now) {
    for (; exact_ < grants_.size() && grants_[exact_].time + 50 * kTenth <= now; ++exact_)
      sum_ -= grants_[exact_].tokens;
    while (!grants_.empty() && grants_.front().time / kTenth + 50 < now / kTenth) {
      held_ -= grants_.front().tokens;
      grants_.pop_front();
      --exact_;
    }
  }

  std::deque<Grant> grants_{};
  std::size_t exact_ = 0;   ///< the first grant of the last 5 s
  std::uint64_t sum_ = 0;   ///< tokens of these
  std::uint64_t held_ = 0;  ///< tokens of all grants
};

}  // namespace simulate
