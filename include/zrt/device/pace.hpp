// SPDX-License-Identifier: Apache-2.0
// zrt/device/pace.hpp: how fast a device works, learnt from what it has done, and how much may be handed over at once.
#pragma once

#include <zrt/core/span.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::device {

/// A driver ends work that takes too long, and a stop is seen between two submissions: so a submission is to take no
/// longer than some time. Work is launch_work()'s.
///
/// A device begins as a slow one, and is taken for a faster one step by step. Work that was slower than thought counts at
/// once. What is learnt moves the ends of submissions, never a result.
class Pace {
 public:
  /// Work below which commands are not cut: so much takes no device too long.
  static constexpr std::uint64_t kLeastWork = 10'000'000;

  /// Nanoseconds that a submission is to take at most.
  explicit Pace(std::uint64_t longest) noexcept : longest_(static_cast<double>(longest)) {}

  /// Whether so much work is thought to end in time.
  [[nodiscard]] bool is_timely(std::uint64_t work) const noexcept {
    return static_cast<double>(work) * cost_ <= longest_;
  }
  /// Up to which of the pieces, whose work is given, a submission goes that begins with `first`: one at least.
  [[nodiscard]] std::size_t cut(Span<const std::uint64_t> pieces, std::size_t first) const noexcept {
    std::uint64_t work = pieces[first];
    std::size_t end = first + 1;
    while (end < pieces.size() && is_timely(work + pieces[end])) work += pieces[end++];
    return end;
  }
  /// That so much work took `nanoseconds`, by the host's clock.
  void learn(std::uint64_t work, std::uint64_t nanoseconds) noexcept {
    // What is soon done says little of what takes long, and a thread that slept says nothing of a multiply-add; but a
    // device that was thought slow after one late submission is at least as fast as this.
    if (nanoseconds < kTelling && work < kLeastWork) {
      const double most = work < kSmall ? cost_ : static_cast<double>(nanoseconds) / static_cast<double>(work);
      if (most < cost_) cost_ += (most - cost_) / 4;
      return;
    }
    // Handing over and waking up are no work, but a part of a short time at most.
    const std::uint64_t part = nanoseconds / 4;
    const std::uint64_t spent = nanoseconds > kOverhead + part ? nanoseconds - kOverhead : part;
    const double seen = static_cast<double>(spent) / static_cast<double>(work < kSmall ? kSmall : work);
    cost_ = seen > cost_ ? seen : cost_ + (seen - cost_) / 4;
  }
  /// Nanoseconds that a million multiply-adds are thought to take.
  [[nodiscard]] std::uint64_t of_a_million() const noexcept { return static_cast<std::uint64_t>(cost_ * 1e6); }

 private:
  static constexpr std::uint64_t kOverhead = 100'000, kTelling = 1'000'000, kSmall = kLeastWork / 16;

  static constexpr double kSlow = 4.0;

  double longest_;
  double cost_ = kSlow;  ///< nanoseconds of a multiply-add
};

}  // namespace zrt::inline ZRT_ABI::device
