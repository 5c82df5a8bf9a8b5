// SPDX-License-Identifier: Apache-2.0
// zrt/exec/barrier.hpp: a spinning barrier for workers that run at the same time.
#pragma once

#include <zrt/exec/patience.hpp>

namespace zrt::inline ZRT_ABI::exec {

/// Lets `count` workers wait for each other, without a system call while each has a core.
///
/// A worker keeps its own round number. Workers that share a core offer it to each other.
class SpinBarrier {
 public:
  void reset(std::uint32_t count) noexcept {
    count_ = count;
    arrived_.store(0, MemoryOrder::relaxed);
    round_.store(0, MemoryOrder::relaxed);
  }

  /// Returns when all workers of round `round` have arrived; `round` counts up by itself.
  void wait(std::uint32_t& round) noexcept {
    const std::uint32_t mine = round++;
    if (arrived_.fetch_add(1, MemoryOrder::acq_rel) + 1 == count_) {
      arrived_.store(0, MemoryOrder::relaxed);
      round_.store(mine + 1, MemoryOrder::release);
      return;
    }
    patience_.wait([&] { return round_.load(MemoryOrder::acquire) != mine; });
  }

  [[nodiscard]] Patience& patience() noexcept { return patience_; }

 private:
  std::uint32_t count_ = 1;
  alignas(64) Atomic<std::uint32_t> arrived_{0};
  alignas(64) Atomic<std::uint32_t> round_{0};
  Patience patience_;
};

}  // namespace zrt::inline ZRT_ABI::exec
