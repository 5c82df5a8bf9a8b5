// SPDX-License-Identifier: Apache-2.0
// zrt/exec/patience.hpp: how long a waiting worker keeps its core before it offers it to others.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/core/hooks.hpp>

#include <cstdint>
#include <sched.h>

namespace zrt::inline ZRT_ABI::exec {

/// Learns from its offers how long to spin before the next one.
///
/// Where every worker has a core, waits end while it spins, and no system call is made. Where workers
/// share cores, the one that is waited for gets to run only when a waiting one lets it. Whether an offer
/// was taken shows in how long it lasted: a taken one halves the spinning, one that nobody wanted
/// doubles it, so that a worker with a core soon offers nothing. Any thread.
class Patience {
 public:
  /// About a millisecond of pause instructions, and about a microsecond.
  static constexpr std::uint32_t kMostPauses = 32768;
  static constexpr std::uint32_t kLeastPauses = 32;
  /// An offer that nobody takes lasts 0.6 us, one to a thread that offers at once again 3.5 us (measured
  /// in a virtual machine, where both are slow).
  static constexpr std::uint64_t kTakenNanoseconds = 2000;

  /// Returns when `done()` says so.
  template <class Done> void wait(const Done& done) noexcept {
    for (;;) {
      const std::uint32_t spins = pauses();
      for (std::uint32_t i = 0; i < spins; ++i) {
        if (done()) return;
        pause();
      }
      const ClockHook clock = monotonic_clock();
      const std::uint64_t before = clock();
      (void)sched_yield();
      const bool taken = clock() - before >= kTakenNanoseconds;
      if (taken)
        learn(spins / 2 > kLeastPauses ? spins / 2 : kLeastPauses);
      else
        learn(spins < kMostPauses / 2 ? spins * 2 : kMostPauses);
    }
  }

  [[nodiscard]] std::uint32_t pauses() const noexcept { return pauses_.load(MemoryOrder::relaxed); }
  /// Takes over what another has learnt.
  void learn(std::uint32_t pauses) noexcept {
    if (pauses != this->pauses()) pauses_.store(pauses, MemoryOrder::relaxed);
  }

  /// Tells the core that this thread waits.
  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
  }

 private:
  Atomic<std::uint32_t> pauses_{kMostPauses};
};

}  // namespace zrt::inline ZRT_ABI::exec
