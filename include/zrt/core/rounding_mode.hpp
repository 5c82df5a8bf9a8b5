// SPDX-License-Identifier: Apache-2.0
// zrt/core/rounding_mode.hpp: nearest-even rounding with denormals for a scope, whatever the host has set.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// Sets the thread's floating-point control register to round to nearest with denormals kept, and
/// gives the host its own back at the end of the scope.
class RoundingMode {
 public:
  RoundingMode() noexcept {
#if defined(__x86_64__)
    __asm__ volatile("stmxcsr %0" : "=m"(saved_)::"memory");
    const std::uint32_t standard = 0x1f80;  // all exceptions masked, nearest, no flush to zero
    __asm__ volatile("ldmxcsr %0" ::"m"(standard) : "memory");
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_)::"memory");
    __asm__ volatile("msr fpcr, %0" ::"r"(std::uint64_t{0}) : "memory");
#endif
  }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;
  ~RoundingMode() {
#if defined(__x86_64__)
    __asm__ volatile("ldmxcsr %0" ::"m"(saved_) : "memory");
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" ::"r"(saved_) : "memory");
#endif
  }

 private:
#if defined(__x86_64__)
  std::uint32_t saved_ = 0;
#elif defined(__aarch64__)
  std::uint64_t saved_ = 0;
#endif
};

}  // namespace zrt::inline ZRT_ABI
