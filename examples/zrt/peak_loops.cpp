// SPDX-License-Identifier: Apache-2.0
// examples/zrt/peak_loops.cpp: sixteen independent chains per loop, enough to hide the latency of an
// instruction that is issued twice a cycle and takes at most eight. The loops over them are unrolled, so that
// every sum has a register.
#include "peak_loops.hpp"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace program {
namespace {

constexpr std::size_t kChains = 16;

// Keeps a value in a register of its own and hides from the compiler what it holds.
#define ZRT_OPAQUE(value) __asm__ volatile("" : "+x"(value))
#define ZRT_OPAQUE_512(value) __asm__ volatile("" : "+v"(value))

#if defined(__x86_64__)

__attribute__((target("avx512f,avx512bw,avx512vnni"))) double int8_v4(std::size_t rounds) noexcept {
  __m512i sum[kChains];
#pragma GCC unroll 16
  for (__m512i& s : sum) {
    s = _mm512_setzero_si512();
    ZRT_OPAQUE_512(s);  // or all sums would be found to be one
  }
  __m512i a = _mm512_set1_epi8(1);
  __m512i b = _mm512_set1_epi8(2);
  ZRT_OPAQUE_512(a);
  ZRT_OPAQUE_512(b);
  for (std::size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 16
    for (__m512i& s : sum) s = _mm512_dpbusd_epi32(s, a, b);
#pragma GCC unroll 16
  for (__m512i& s : sum) ZRT_OPAQUE_512(s);
  return static_cast<double>(rounds * kChains * 64 * 2);
}

// Products of full tiles: four at a time into a register each, which is enough, as one occupies the tile unit for
// sixteen cycles. They can be asked for where cpu::detect_isa said "amx", which also asked the system for tiles.
template <class Four> double tile_products(std::size_t rounds, std::size_t row_elements, Four&& four) noexcept {
  struct alignas(64) {
    std::uint8_t palette = 1, start_row = 0, reserved[14]{};
    std::uint16_t row_bytes[16]{64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16]{16, 16, 16, 16, 16, 16};
  } sizes;
  __asm__ volatile("ldtilecfg %0" : : "m"(sizes));
  for (std::size_t i = 0; i < rounds; ++i) four();
  __asm__ volatile("tilerelease");
  return static_cast<double>(rounds * 4 * 16 * 16 * row_elements * 2);
}
double int8_amx(std::size_t rounds) noexcept {
  return tile_products(rounds, 64, [] {
    __asm__ volatile(
        "tdpbssd %tmm1, %tmm0, %tmm2\n\ttdpbssd %tmm1, %tmm0, %tmm3\n\t"
        "tdpbssd %tmm1, %tmm0, %tmm4\n\ttdpbssd %tmm1, %tmm0, %tmm5");
  });
}
double bf16_amx(std::size_t rounds) noexcept {
  return tile_products(rounds, 32, [] {
    __asm__ volatile(
        "tdpbf16ps %tmm1, %tmm0, %tmm2\n\ttdpbf16ps %tmm1, %tmm0, %tmm3\n\t"
        "tdpbf16ps %tmm1, %tmm0, %tmm4\n\ttdpbf16ps %tmm1, %tmm0, %tmm5");
  });
}

__attribute__((target("avx512f"))) double bf16_v4(std::size_t rounds) noexcept {
  __m512 sum[kChains];
#pragma GCC unroll 16
  for (__m512& s : sum) {
    s = _mm512_setzero_ps();
    ZRT_OPAQUE_512(s);  // or all sums would be found to be one
  }
  __m512i a = _mm512_set1_epi16(0x3f00);  // 0.5
  ZRT_OPAQUE_512(a);
  for (std::size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 16
    for (__m512& s : sum) __asm__("vdpbf16ps %1, %1, %0" : "+v"(s) : "v"(a));
#pragma GCC unroll 16
  for (__m512& s : sum) ZRT_OPAQUE_512(s);
  return static_cast<double>(rounds * kChains * 32 * 2);
}

// Bits of CPUID (Intel SDM, volume 2, CPUID): what a variant's name does not say.
bool has_avx512_bf16() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 5 & 1u) != 0;
}
bool has_amx_bf16() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx >> 22 & 1u) != 0;
}

__attribute__((target("avx512f"))) double f32_v4(std::size_t rounds) noexcept {
  __m512 sum[kChains];
#pragma GCC unroll 16
  for (__m512& s : sum) {
    s = _mm512_setzero_ps();
    ZRT_OPAQUE_512(s);  // or all sums would be found to be one
  }
  __m512 a = _mm512_set1_ps(0.5f);
  ZRT_OPAQUE_512(a);
  for (std::size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 16
    for (__m512& s : sum) s = _mm512_fmadd_ps(s, a, a);
#pragma GCC unroll 16
  for (__m512& s : sum) ZRT_OPAQUE_512(s);
  return static_cast<double>(rounds * kChains * 16 * 2);
}

// Without VNNI an exact int8 product takes three instructions: pairs to 16 bits, quads to 32, the sum.
__attribute__((target("avx2"))) double int8_v3(std::size_t rounds) noexcept {
  constexpr std::size_t kSums = 12;  // and two operands and two temporaries: sixteen registers
  __m256i sum[kSums];
#pragma GCC unroll 16
  for (__m256i& s : sum) {
    s = _mm256_setzero_si256();
    ZRT_OPAQUE(s);
  }
  __m256i a = _mm256_set1_epi8(1);
  const __m256i ones = _mm256_set1_epi16(1);
  for (std::size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 16
    for (__m256i& s : sum) {
      ZRT_OPAQUE(a);
      s = _mm256_add_epi32(s, _mm256_madd_epi16(_mm256_maddubs_epi16(a, a), ones));
    }
#pragma GCC unroll 16
  for (__m256i& s : sum) ZRT_OPAQUE(s);
  return static_cast<double>(rounds * kSums * 32 * 2);
}

__attribute__((target("avx2,fma"))) double f32_v3(std::size_t rounds) noexcept {
  constexpr std::size_t kSums = 12;
  __m256 sum[kSums];
#pragma GCC unroll 16
  for (__m256& s : sum) {
    s = _mm256_setzero_ps();
    ZRT_OPAQUE(s);
  }
  __m256 a = _mm256_set1_ps(0.5f);
  ZRT_OPAQUE(a);
  for (std::size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 16
    for (__m256& s : sum) s = _mm256_fmadd_ps(s, a, a);
#pragma GCC unroll 16
  for (__m256& s : sum) ZRT_OPAQUE(s);
  return static_cast<double>(rounds * kSums * 8 * 2);
}

double int8_v1(std::size_t rounds) noexcept {
  constexpr std::size_t kSums = 12;
  __m128i sum[kSums];
#pragma GCC unroll 16
  for (__m128i& s : sum) {
    s = _mm_setzero_si128();
    ZRT_OPAQUE(s);
  }
  __m128i a = _mm_set1_epi16(1);
  for (std::size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 16
    for (__m128i& s : sum) {
      ZRT_OPAQUE(a);
      s = _mm_add_epi32(s, _mm_madd_epi16(a, a));
    }
#pragma GCC unroll 16
  for (__m128i& s : sum) ZRT_OPAQUE(s);
  return static_cast<double>(rounds * kSums * 8 * 2);
}

double f32_v1(std::size_t rounds) noexcept {
  constexpr std::size_t kSums = 12;
  __m128 sum[kSums];
#pragma GCC unroll 16
  for (__m128& s : sum) {
    s = _mm_setzero_ps();
    ZRT_OPAQUE(s);
  }
  __m128 a = _mm_set1_ps(0.5f);
  ZRT_OPAQUE(a);
  for (std::size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 16
    for (__m128& s : sum) s = _mm_add_ps(_mm_mul_ps(s, a), a);
#pragma GCC unroll 16
  for (__m128& s : sum) ZRT_OPAQUE(s);
  return static_cast<double>(rounds * kSums * 4 * 2);
}

#else

// Elsewhere whatever the compiler makes of a plain loop.
double int8_v1(std::size_t rounds) noexcept {
  int sum[kChains]{};
  for (std::size_t i = 0; i < rounds; ++i)
    for (std::size_t k = 0; k < kChains; ++k) {
      sum[k] += static_cast<int>(i & 127u) * 3;
      __asm__ volatile("" : "+r"(sum[k]));
    }
  return static_cast<double>(rounds * kChains * 2);
}

double f32_v1(std::size_t rounds) noexcept {
  float sum[kChains]{};
  for (std::size_t i = 0; i < rounds; ++i)
    for (float& s : sum) s = __builtin_fmaf(s, 0.5f, 0.5f);
  float all = 0.0f;
  for (const float s : sum) all += s;
  __asm__ volatile("" : : "m"(all));
  return static_cast<double>(rounds * kChains * 2);
}

#endif

#undef ZRT_OPAQUE
#undef ZRT_OPAQUE_512

}  // namespace

PeakLoop int8_loop([[maybe_unused]] std::string_view isa) {
#if defined(__x86_64__)
  if (isa == "amx") return &int8_amx;
  if (isa == "v4") return &int8_v4;
  if (isa == "v3") return &int8_v3;
#endif
  return &int8_v1;
}

PeakLoop f32_loop([[maybe_unused]] std::string_view isa) {
#if defined(__x86_64__)
  if (isa == "v4" || isa == "amx") return &f32_v4;
  if (isa == "v3") return &f32_v3;
#endif
  return &f32_v1;
}

PeakLoop bf16_loop([[maybe_unused]] std::string_view isa) {
#if defined(__x86_64__)
  if (isa == "amx" && has_amx_bf16()) return &bf16_amx;
  if ((isa == "v4" || isa == "amx") && has_avx512_bf16()) return &bf16_v4;
#endif
  return nullptr;
}

}  // namespace program
