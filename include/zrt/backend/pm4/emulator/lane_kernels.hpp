// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/emulator/lane_kernels.hpp: loops over 32 lanes that the baseline instruction set makes slow.
#pragma once

#include <zrt/backend/pm4/emulator/isa/types.hpp>

#include <bit>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::pm4::emulator {

/// Functions chosen once by what the processor has; the bits are the same either way.
struct LaneKernels {
  /// d[i] = a[i] * b[i] + c[i] in f32, rounded once.
  void (*fma)(const u32* a, const u32* b, const u32* c, u32* d) noexcept = nullptr;
  /// d[i] = the sum of the products of the four bytes of a[i] and b[i]; a byte is signed where its `top` is 0x80.
  void (*dot_bytes)(const u32* a, const u32* b, u32 top_a, u32 top_b, u32* d) noexcept = nullptr;
};

/// The dot products of the elements of 32-bit words, kBits each; `top` is an element's sign bit, or 0.
template <unsigned kBits>
ZRT_ALWAYS_INLINE void dot_elements(const u32* a, const u32* b, u32 top_a, u32 top_b, u32* __restrict d) noexcept {
  constexpr u32 kMask = (u32{1} << kBits) - 1;
  for (unsigned i = 0; i < kLanes; ++i) {
    u32 sum = 0;
    for (unsigned shift = 0; shift < 32; shift += kBits)
      sum += (((a[i] >> shift & kMask) ^ top_a) - top_a) * (((b[i] >> shift & kMask) ^ top_b) - top_b);
    d[i] = sum;
  }
}

namespace detail {

inline void fma_portable(const u32* a, const u32* b, const u32* c, u32* d) noexcept {
  for (unsigned i = 0; i < kLanes; ++i)
    d[i] = std::bit_cast<u32>(
        __builtin_fmaf(std::bit_cast<f32>(a[i]), std::bit_cast<f32>(b[i]), std::bit_cast<f32>(c[i])));
}
inline void dot_bytes_portable(const u32* a, const u32* b, u32 top_a, u32 top_b, u32* d) noexcept {
  dot_elements<8>(a, b, top_a, top_b, d);
}

#if defined(__x86_64__) && !defined(__FMA__)
[[gnu::target("avx2,fma")]] inline void fma_avx2(const u32* a, const u32* b, const u32* c, u32* d) noexcept {
  typedef f32 Block __attribute__((vector_size(32)));
  for (unsigned i = 0; i < kLanes; i += 8) {
    Block x, y, z;
    __builtin_memcpy(&x, a + i, sizeof x);
    __builtin_memcpy(&y, b + i, sizeof y);
    __builtin_memcpy(&z, c + i, sizeof z);
    for (unsigned j = 0; j < 8; ++j) z[j] = __builtin_fmaf(x[j], y[j], z[j]);
    __builtin_memcpy(d + i, &z, sizeof z);
  }
}
[[gnu::target("avx2,fma")]] inline void dot_bytes_avx2(const u32* a, const u32* b, u32 top_a, u32 top_b,
                                                       u32* d) noexcept {
  typedef u32 Block __attribute__((vector_size(32)));
  for (unsigned i = 0; i < kLanes; i += 8) {
    Block x, y, sum{};
    __builtin_memcpy(&x, a + i, sizeof x);
    __builtin_memcpy(&y, b + i, sizeof y);
    for (unsigned shift = 0; shift < 32; shift += 8)
      sum += (((x >> shift & 0xffu) ^ top_a) - top_a) * (((y >> shift & 0xffu) ^ top_b) - top_b);
    __builtin_memcpy(d + i, &sum, sizeof sum);
  }
}
#endif

}  // namespace detail

[[nodiscard]] inline LaneKernels lane_kernels() noexcept {
#if defined(__x86_64__) && !defined(__FMA__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {&detail::fma_avx2, &detail::dot_bytes_avx2};
#endif
  return {&detail::fma_portable, &detail::dot_bytes_portable};
}

}  // namespace zrt::inline ZRT_ABI::pm4::emulator
ZRT_FP_END
