// SPDX-License-Identifier: Apache-2.0
// zrt/exec/shares.hpp: the workers of a step claim shards of the calls between two fences.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/exec/spin_pause.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::exec {

/// A shard of one segment, claimed by one worker. A segment is the calls between two fences.
struct SegmentShard {
  std::uint32_t segment = 0;
  std::uint32_t index = 0;
};

/// The shards of a step: one per worker in each segment, one segment open at a time.
///
/// Each worker starts with the shard of its own number, then claims any shard that nobody has started. So workers that
/// arrive late are not waited for, and one worker can do the whole step. A worker waits only for shards that another
/// worker is running: it spins, and yields its core beyond SpinWait's bound.
class Shares {
 public:
  /// Workers with shards of their own: as many as EngineOptions::threads allows.
  static constexpr std::uint32_t kMost = 1024;
  /// Pauses before a worker claims the shard of a late worker: a few microseconds, about the cost of fetching the
  /// weights that the late worker has in its cache.
  static constexpr std::uint32_t kPatience = 64;

  /// What a worker remembers from shard to shard.
  struct Claimant {
    std::uint32_t own = 0;
    std::uint32_t patience = kPatience;
  };

  /// Opens the first of `segments`, at least one. At most kMost workers have shards of their own.
  Shares(std::uint32_t workers, std::uint32_t segments) noexcept
      : count_(workers < kMost ? workers : kMost),
        stride_(kMost / count_ < kLine ? kMost / count_ : kLine),
        segments_(segments) {}

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  /// True once a segment was the last because of `stopped`.
  [[nodiscard]] bool halted() const noexcept { return open_.load(MemoryOrder::acquire) == kHalted; }

  /// Claims a shard of the open segment. While other workers run all that is left of it, this one waits. False when the
  /// step is over.
  [[nodiscard]] bool claim(Claimant& worker, SegmentShard& share) noexcept {
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
          // A worker that was late once counts as late, until this worker has had to wait for it.
          worker.patience = 0;
          share = {open, other};
          return true;
        }
      }
      waiting.wait();
    }
  }

  /// Ends a shard. The last shard of a segment asks `stopped`, then opens the next segment, so that a stop ends the
  /// step for all workers between two segments.
  template <class Stopped> void finish(const SegmentShard& share, const Stopped& stopped) noexcept {
    if (done_.fetch_add(1, MemoryOrder::acq_rel) + 1 != count_) return;
    done_.store(0, MemoryOrder::relaxed);
    const bool last = share.segment + 1 == segments_;
    open_.store(last ? kOver : stopped() ? kHalted : share.segment + 1, MemoryOrder::release);
  }

 private:
  // Values of `open_` beyond any segment: a stop ended the step; the step is over.
  static constexpr std::uint32_t kHalted = ~std::uint32_t{0} - 1;
  static constexpr std::uint32_t kOver = ~std::uint32_t{0};
  static constexpr std::uint32_t kLine = 64 / sizeof(std::uint32_t);  ///< claims in a cache line

  /// An unclaimed shard of segment `open` keeps that segment open, so a stale `open_` never claims finished work.
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
  /// Per shard: the first segment in which it is not claimed.
  alignas(64) std::array<Atomic<std::uint32_t>, kMost> claimed_{};
};

}  // namespace zrt::inline ZRT_ABI::exec
