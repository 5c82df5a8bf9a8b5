// SPDX-License-Identifier: Apache-2.0
// zrt/exec/barrier.hpp: a spinning barrier for workers that run at the same time.
#pragma once

#include <zrt/core/config.hpp>

#include <atomic>
#include <cstdint>
#include <sched.h>

namespace zrt::inline ZRT_ABI::exec {

/// Lets `count` workers wait for each other without a system call.
///
/// A worker keeps its own round number. After a long wait the core is offered to others, so that
/// more workers than cores still finish.
class SpinBarrier {
 public:
  void reset(std::uint32_t count) noexcept {
    count_ = count;
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(0, std::memory_order_relaxed);
  }

  /// Returns when all workers of round `round` have arrived; `round` counts up by itself.
  void wait(std::uint32_t& round) noexcept {
    const std::uint32_t mine = round++;
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(mine + 1, std::memory_order_release);
      return;
    }
    for (std::uint32_t spins = 0; round_.load(std::memory_order_acquire) == mine; ++spins) pause(spins);
  }

  /// Waits a moment: a pause instruction, and now and then the scheduler.
  static void pause(std::uint32_t spins) noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
    // About a millisecond of pauses before the first offer.
    if ((spins & 0x7fffu) == 0x7fffu) (void)sched_yield();
  }

 private:
  std::uint32_t count_ = 1;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> round_{0};
};

}  // namespace zrt::inline ZRT_ABI::exec
