// SPDX-License-Identifier: Apache-2.0
// zrt/serve/token_window.hpp: tokens of the last five seconds, against a rate.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// Counts tokens in buckets of 100 ms. Never fewer than the last 5 s hold, so that no 5 s exceed the rate.
class TokenWindow {
 public:
  static constexpr std::uint64_t kSeconds = 5;
  static constexpr std::uint64_t kBucket = 100'000'000;  ///< nanoseconds

  /// Forgets what is older than the window. `now` never goes back.
  void advance(std::uint64_t now) noexcept {
    const std::uint64_t tick = now / kBucket;
    const std::uint64_t passed = tick - tick_;
    for (std::uint64_t i = 0; i < passed && i < kBuckets; ++i) {
      std::uint64_t& bucket = counts_[(tick_ + 1 + i) % kBuckets];
      sum_ -= bucket;
      bucket = 0;
    }
    tick_ = tick;
  }

  void take(std::uint32_t tokens) noexcept {
    add(tokens);
    taken_ += tokens;
  }
  /// Counts tokens that were taken elsewhere and share the rate.
  void add(std::uint64_t tokens) noexcept {
    counts_[tick_ % kBuckets] += tokens;
    sum_ += tokens;
  }

  /// Takes back what was taken last, be it in the window still or not.
  void give_back(std::uint32_t tokens) noexcept {
    taken_ -= tokens;
    std::uint64_t left = tokens;
    for (std::uint64_t i = 0; i < kBuckets && left != 0; ++i) {
      std::uint64_t& bucket = counts_[(tick_ + kBuckets - i) % kBuckets];
      const std::uint64_t back = bucket < left ? bucket : left;
      bucket -= back;
      sum_ -= back;
      left -= back;
    }
  }

  /// Tokens that were taken here since the beginning and not given back.
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

  /// Tokens that may still be taken at `rate` tokens a second; ~0 is no limit, so that it holds where time stands still.
  [[nodiscard]] std::uint32_t room(std::uint32_t rate) const noexcept {
    if (rate == ~0u) return ~0u;
    const std::uint64_t most = kSeconds * rate;
    const std::uint64_t left = sum_ < most ? most - sum_ : 0;
    return left < ~0u ? static_cast<std::uint32_t>(left) : ~0u;
  }

  /// Whether the buckets are what the window says that it holds.
  [[nodiscard]] bool adds_up() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t bucket : counts_) sum += bucket;
    return sum == sum_;
  }

  /// Nanoseconds until the oldest tokens leave the window.
  [[nodiscard]] std::uint64_t until_room(std::uint64_t now) const noexcept {
    for (std::uint64_t i = 1; i <= kBuckets; ++i)
      if (counts_[(tick_ + i) % kBuckets] != 0) return (tick_ + i) * kBucket - now;
    return 0;
  }

 private:
  // One more than 5 s have, because the newest bucket has only begun.
  static constexpr std::uint64_t kBuckets = kSeconds * 1'000'000'000u / kBucket + 1;

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t sum_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t tick_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::serve
