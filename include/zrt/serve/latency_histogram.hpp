// SPDX-License-Identifier: Apache-2.0
// zrt/serve/latency_histogram.hpp: percentiles of durations in constant memory.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <bit>
#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// Counts durations in buckets, four to each power of two: a percentile is at most a quarter too long.
class LatencyHistogram {
 public:
  void add(std::uint64_t nanoseconds) noexcept {
    ++counts_[bucket_of(nanoseconds)];
    ++total_;
  }

  /// An upper bound of the duration that `percent` of 100 do not exceed; 0 when none was added.
  [[nodiscard]] std::uint64_t percentile(std::uint32_t percent) const noexcept {
    const std::uint64_t wanted = (total_ * percent + 99) / 100;
    std::uint64_t seen = 0;
    for (std::uint32_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (seen >= wanted && seen != 0) return upper_bound(i);
    }
    return 0;
  }
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

  LatencyHistogram& operator+=(const LatencyHistogram& other) noexcept {
    for (std::uint32_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
    return *this;
  }

  [[nodiscard]] friend bool operator==(const LatencyHistogram&, const LatencyHistogram&) noexcept = default;

 private:
  static constexpr std::uint32_t kBuckets = 64 * 4;

  [[nodiscard]] static constexpr std::uint32_t bucket_of(std::uint64_t x) noexcept {
    if (x < 4) return static_cast<std::uint32_t>(x);
    const auto top = static_cast<std::uint32_t>(std::bit_width(x)) - 1;
    return top * 4 + static_cast<std::uint32_t>((x >> (top - 2)) & 3u);
  }
  [[nodiscard]] static constexpr std::uint64_t upper_bound(std::uint32_t bucket) noexcept {
    if (bucket < 8) return bucket;
    const std::uint32_t top = bucket / 4;
    return ((std::uint64_t{4} + bucket % 4 + 1) << (top - 2)) - 1;
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::serve
