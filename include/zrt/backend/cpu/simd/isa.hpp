// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/isa.hpp: the instruction-set variants, and which of them this CPU runs.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace zrt::inline ZRT_ABI::cpu {

/// A variant of the CPU kernels, in ascending order of what it needs.
enum class Isa : std::uint8_t {
  v1,       ///< plain C++ for whatever the translation unit is compiled for, with NEON on ARM
  dotprod,  ///< ARM's products of four bytes, FEAT_DotProd
  v3,       ///< x86-64 with AVX2, FMA, F16C, BMI2
  v4,       ///< v3 and AVX-512 F, BW, DQ, VL, VNNI
  amx,      ///< v4 and AMX tiles of int8, which the system lets a process use that asks
};

/// Every variant of this family of processors, in ascending order.
#if defined(__x86_64__)
inline constexpr Isa kIsas[]{Isa::v1, Isa::v3, Isa::v4, Isa::amx};
#elif defined(__aarch64__)
inline constexpr Isa kIsas[]{Isa::v1, Isa::dotprod};
#else
inline constexpr Isa kIsas[]{Isa::v1};
#endif

[[nodiscard]] constexpr std::string_view name(Isa isa) noexcept {
  switch (isa) {
    case Isa::v1:
      return "v1";
    case Isa::dotprod:
      return "dotprod";
    case Isa::v3:
      return "v3";
    case Isa::v4:
      return "v4";
    case Isa::amx:
      return "amx";
  }
  return "";
}

#if defined(__x86_64__)
namespace detail {

/// The bits of one register of CPUID.
struct CpuBits {
  unsigned bits = 0;
  [[nodiscard]] constexpr bool has(unsigned bit) const noexcept { return (bits >> bit & 1u) != 0; }
};
struct CpuFeatures {
  CpuBits eax, ebx, ecx, edx;
};
/// CPUID's leaf, its first subleaf; nothing for one that the CPU lacks.
[[nodiscard]] inline CpuFeatures cpu_features(unsigned leaf) noexcept {
  CpuFeatures f;
  if (__get_cpuid_count(leaf, 0, &f.eax.bits, &f.ebx.bits, &f.ecx.bits, &f.edx.bits) == 0) return {};
  return f;
}

/// Whether the system saves all registers of `mask` when it switches threads (Intel SDM, volume 1, section 13.3).
[[nodiscard]] inline bool saves_registers(unsigned mask) noexcept {
  unsigned saved = 0, saved_high = 0;
  __asm__("xgetbv" : "=a"(saved), "=d"(saved_high) : "c"(0));
  return (saved & mask) == mask;
}

/// Asks the system to let this process use tiles, which it saves for those alone that asked; false if it refuses.
[[nodiscard]] inline bool ask_for_tiles() noexcept {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace detail
#endif

/// The best variant up to `highest` that runs here. Asks the CPU, and whether the operating system saves the registers,
/// each time it is called; the system is asked for tiles where `highest` has them.
[[nodiscard]] inline Isa detect_isa([[maybe_unused]] Isa highest = Isa::amx) noexcept {
#if defined(__x86_64__)
  const detail::CpuBits basic = detail::cpu_features(1).ecx;
  const bool fma = basic.has(12), osxsave = basic.has(27), avx = basic.has(28), f16c = basic.has(29);
  if (!(fma && osxsave && avx && f16c) || !detail::saves_registers(0x6)) return Isa::v1;
  const detail::CpuFeatures f = detail::cpu_features(7);
  const bool avx2 = f.ebx.has(5), bmi2 = f.ebx.has(8);
  if (!(avx2 && bmi2) || highest < Isa::v3) return Isa::v1;
  const bool avx512 = f.ebx.has(16) && f.ebx.has(17) && f.ebx.has(30) && f.ebx.has(31) && f.ecx.has(11);
  if (!avx512 || highest < Isa::v4 || !detail::saves_registers(0xe6)) return Isa::v3;
  const bool amx = highest >= Isa::amx && f.edx.has(24) && f.edx.has(25);
  return amx && detail::saves_registers(0x60000) && detail::ask_for_tiles() ? Isa::amx : Isa::v4;
#elif defined(__aarch64__)
#if defined(__ARM_FEATURE_DOTPROD)
  constexpr bool dotprod = true;
#elif defined(__linux__)
  constexpr unsigned long kHasDotProducts = 1ul << 20;  // HWCAP_ASIMDDP
  const bool dotprod = (::getauxval(AT_HWCAP) & kHasDotProducts) != 0;
#else
  constexpr bool dotprod = false;
#endif
  return dotprod && highest >= Isa::dotprod ? Isa::dotprod : Isa::v1;
#else
  return Isa::v1;
#endif
}

}  // namespace zrt::inline ZRT_ABI::cpu
