// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/isa.hpp: the instruction-set variants, and which of them this CPU runs.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace zrt::inline ZRT_ABI::cpu {

/// A variant of the CPU kernels, in ascending order of what it needs.
enum class Isa : std::uint8_t {
  v1,  ///< plain C++ for whatever the translation unit is compiled for
  v3,  ///< AVX2, FMA, F16C, BMI2
  v4,  ///< v3 and AVX-512 F, BW, DQ, VL, VNNI
};

[[nodiscard]] constexpr std::string_view name(Isa isa) noexcept {
  switch (isa) {
    case Isa::v1:
      return "v1";
    case Isa::v3:
      return "v3";
    case Isa::v4:
      return "v4";
  }
  return "";
}

/// Asks the CPU, and whether the operating system saves the registers, each time it is called.
[[nodiscard]] inline Isa detect_isa() noexcept {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return Isa::v1;
  const auto has = [](unsigned bits, unsigned bit) { return (bits >> bit & 1u) != 0; };
  const bool fma = has(c, 12), osxsave = has(c, 27), avx = has(c, 28), f16c = has(c, 29);
  if (!(fma && osxsave && avx && f16c)) return Isa::v1;
  unsigned saved = 0, saved_high = 0;
  __asm__("xgetbv" : "=a"(saved), "=d"(saved_high) : "c"(0));
  if ((saved & 0x06u) != 0x06u) return Isa::v1;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return Isa::v1;
  const bool avx2 = has(b, 5), bmi2 = has(b, 8);
  if (!(avx2 && bmi2)) return Isa::v1;
  const bool avx512 = has(b, 16) && has(b, 17) && has(b, 30) && has(b, 31) && has(c, 11);
  return avx512 && (saved & 0xe6u) == 0xe6u ? Isa::v4 : Isa::v3;
#else
  return Isa::v1;
#endif
}

}  // namespace zrt::inline ZRT_ABI::cpu
