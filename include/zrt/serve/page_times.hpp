// SPDX-License-Identifier: Apache-2.0
// zrt/serve/page_times.hpp: how long pages live, lie unused and wait to be used again.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// Durations in ranges, as Prometheus counts them.
struct DurationCounts {
  /// The most milliseconds of each range; one more lies beyond the last. Dashboards of vLLM expect these.
  static constexpr std::array<std::uint32_t, 21> kBoundsMs{
      1,     2,      5,      10,     20,     50,      100,     200,     500,       1'000,    2'000,
      5'000, 10'000, 20'000, 30'000, 60'000, 120'000, 300'000, 600'000, 1'200'000, 1'800'000};

  std::array<std::uint64_t, kBoundsMs.size() + 1> counts{};
  std::uint64_t sum_ns = 0;

  void add(std::uint64_t nanoseconds) noexcept {
    constexpr std::uint64_t kMillisecond = 1'000'000;
    std::size_t at = 0;
    while (at < kBoundsMs.size() && nanoseconds > kBoundsMs[at] * kMillisecond) ++at;
    ++counts[at];
    sum_ns += nanoseconds;
  }
  [[nodiscard]] std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
  }
};

/// Times of a pool's pages. A page is used when a slot takes it up, and when the last slot lets go of it.
struct PageTimes {
  DurationCounts lifetime{};   ///< of cached pages, from when they were taken to their eviction
  DurationCounts idle{};       ///< of the same, from their last use
  DurationCounts reuse_gap{};  ///< from a page's last use until one more slot takes it up
};

}  // namespace zrt::inline ZRT_ABI::serve
