// SPDX-License-Identifier: Apache-2.0
// zrt/exec/shares.hpp: who of a step's workers does which share of the calls between two fences.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/exec/spin_pause.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::exec {

/// One share of one segment, claimed by one worker.
struct Share {
  std::uint32_t segment = 0;
  std::uint32_t index = 0;
};

/// The shares of a step: as many as workers in each segment, one segment open at a time.
///
/// Each worker begins with the share of its own number. One that has done its own does what others
/// have not begun, so nobody is waited for who has not come: of the workers that a step is made for, one is
/// enough. What is waited for is a share that somebody is at, by pauses up to SpinWait's bound.
class Shares {
 public:
  static constexpr std::uint32_t kMost = 1024;
  /// Pauses before a worker takes the share of another that is late: a few microseconds, about what it costs
  /// to fetch the weights that the other has in its cache.
  static constexpr std::uint32_t kPatience = 64;

  /// What a worker remembers from share to share.
  struct Claimant {
    std::uint32_t own = 0;
    std::uint32_t patience = kPatience;
  };

  /// Opens the first of `segments`, which are not none. At most kMost workers have shares of their own.
  Shares(std::uint32_t workers, std::uint32_t segments) noexcept
      : count_(workers < kMost ? workers : kMost),
        stride_(kMost / count_ < kLine ? kMost / count_ : kLine),
        segments_(segments) {}

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  /// True once a segment was the last because of `stopped`.
  [[nodiscard]] bool halted() const noexcept { return open_.load(MemoryOrder::acquire) == kHalted; }

  /// Claims a share of the open segment, waiting while others are at all that is left of it; false when the
  /// step is over.
  [[nodiscard]] bool claim(Claimant& worker, Share& share) noexcept {
    for (SpinWait waiting;;) {
      const std::uint32_t open = open_.load(MemoryOrder::acquire);
      if (open >= kHalted) return false;
      if (take(worker.own, open)) {
        if (waiting.pauses() != 0) worker.patience = kPatience;
        share = {open, worker.own};
        return true;
      }
      if (waiting.pauses() >= worker.patience) {
        for (std::uint32_t k = 1; k <= count_; ++k) {
          const std::uint32_t other = (worker.own + k) % count_;
          if (!take(other, open)) continue;
          // Whoever was late once is late again, until this worker has had to wait for it.
          worker.patience = 0;
          share = {open, other};
          return true;
        }
      }
      waiting.wait();
    }
  }

  /// Ends a share. The last of a segment asks `stopped` before it opens the next, so that a stop ends the
  /// step between two segments for all.
  template <class Stopped> void finish(const Share& share, const Stopped& stopped) noexcept {
    if (done_.fetch_add(1, MemoryOrder::acq_rel) + 1 != count_) return;
    done_.store(0, MemoryOrder::relaxed);
    const bool last = share.segment + 1 == segments_;
    open_.store(last ? kOver : stopped() ? kHalted : share.segment + 1, MemoryOrder::release);
  }

 private:
  static constexpr std::uint32_t kHalted = ~std::uint32_t{0} - 1;
  static constexpr std::uint32_t kOver = ~std::uint32_t{0};
  static constexpr std::uint32_t kLine = 64 / sizeof(std::uint32_t);

  /// A share of segment `open` that nobody has claimed keeps that segment open, so a late look at
  /// `open_` claims nothing that is done.
  [[nodiscard]] bool take(std::uint32_t index, std::uint32_t open) noexcept {
    if (index >= count_) return false;
    Atomic<std::uint32_t>& claimed = claimed_[std::size_t{index} * stride_];
    std::uint32_t expected = claimed.load(MemoryOrder::relaxed);
    return expected == open && claimed.compare_exchange(expected, open + 1, MemoryOrder::relaxed);
  }

  std::uint32_t count_;
  std::uint32_t stride_;  ///< a cache line of its own for each claim, as long as there is room
  std::uint32_t segments_;
  alignas(64) Atomic<std::uint32_t> open_{0};
  alignas(64) Atomic<std::uint32_t> done_{0};
  /// Per share: the first segment in which it is not claimed.
  alignas(64) std::array<Atomic<std::uint32_t>, kMost> claimed_{};
};

}  // namespace zrt::inline ZRT_ABI::exec
