// SPDX-License-Identifier: Apache-2.0
// zrt/core/tick_clock.hpp: the processor's counter as a clock, for times of single kernel calls.
#pragma once

#include <zrt/core/hooks.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace zrt::inline ZRT_ABI {

/// Counts ticks of one steady rate on all cores.
///
/// Reading the counter takes about 17 ns on an AMD EPYC, the system's clock 44 ns: a small model's step has a hundred
/// calls in as many microseconds. Where the processor does not promise a steady counter, ticks are the system's
/// nanoseconds.
class TickClock {
 public:
  TickClock() noexcept : counter_(is_steady()) { start_ = {now(), monotonic_clock()()}; }

  [[nodiscard]] std::uint64_t now() const noexcept {
#if defined(__x86_64__)
    if (counter_) return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (counter_) {
      std::uint64_t ticks = 0;
      asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
      return ticks;
    }
#endif
    return monotonic_clock()();
  }

  /// Nanoseconds of the system's clock per tick, over the time since this was made.
  [[nodiscard]] double nanoseconds_per_tick() const noexcept {
    if (!counter_) return 1.0;
    const Reading end{now(), monotonic_clock()()};
    if (end.ticks <= start_.ticks || end.nanoseconds <= start_.nanoseconds) return 1.0;
    return static_cast<double>(end.nanoseconds - start_.nanoseconds) / static_cast<double>(end.ticks - start_.ticks);
  }
  /// The tick at which this was made.
  [[nodiscard]] std::uint64_t start() const noexcept { return start_.ticks; }

 private:
  struct Reading {
    std::uint64_t ticks = 0;
    std::uint64_t nanoseconds = 0;
  };

  [[nodiscard]] static bool is_steady() noexcept {
#if defined(__x86_64__)
    // CPUID 8000_0007h, EDX bit 8: the counter runs at one rate in all power states.
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d >> 8 & 1u) != 0;
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
  }

  bool counter_;
  Reading start_{};
};

}  // namespace zrt::inline ZRT_ABI
