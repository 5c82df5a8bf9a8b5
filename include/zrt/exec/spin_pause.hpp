// SPDX-License-Identifier: Apache-2.0
// zrt/exec/spin_pause.hpp: what a thread does between two looks at a word that another will write.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>
#include <sched.h>

namespace zrt::inline ZRT_ABI::exec {

/// Tells the core that this thread waits; no system call.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

/// Waits for another thread: spins, and beyond a bound yields the core.
///
/// Workers with cores of their own wait for each other a few microseconds, so a step makes no system call. On shared
/// cores the other thread may have lost its core for a time slice of milliseconds; yielding lets it run here.
class SpinWait {
 public:
  /// About 50 µs on Zen 3 and 100 µs on Skylake, whose pauses take 65 and 140 cycles.
  static constexpr std::uint32_t kPauses = 2048;

  /// One wait of a series; a new object begins a new series.
  void wait() noexcept {
    if (pauses_ == kPauses) {
      (void)sched_yield();
      return;
    }
    ++pauses_;
    spin_pause();
  }
  /// The waits so far, kPauses for all beyond.
  [[nodiscard]] std::uint32_t pauses() const noexcept { return pauses_; }

 private:
  std::uint32_t pauses_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::exec
