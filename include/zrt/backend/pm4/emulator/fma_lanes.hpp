// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/emulator/fma_lanes.hpp: fused multiply-add of 32 lanes, by the processor's own where it has one.
#pragma once

#include <zrt/backend/pm4/emulator/isa/types.hpp>

#include <bit>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::pm4::emulator {

/// d[i] = a[i] * b[i] + c[i], rounded once, for the bits of kLanes f32.
using FmaLanes = void (*)(const u32* a, const u32* b, const u32* c, u32* d) noexcept;

namespace detail {

inline void fma_lanes_portable(const u32* a, const u32* b, const u32* c, u32* d) noexcept {
  for (unsigned i = 0; i < kLanes; ++i)
    d[i] = std::bit_cast<u32>(
        __builtin_fmaf(std::bit_cast<f32>(a[i]), std::bit_cast<f32>(b[i]), std::bit_cast<f32>(c[i])));
}

#if defined(__x86_64__) && !defined(__FMA__)
[[gnu::target("avx2,fma")]] inline void fma_lanes_avx2(const u32* a, const u32* b, const u32* c, u32* d) noexcept {
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
#endif

}  // namespace detail

/// Chooses once; the bits are the same either way.
[[nodiscard]] inline FmaLanes fma_lanes() noexcept {
#if defined(__x86_64__) && !defined(__FMA__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &detail::fma_lanes_avx2;
#endif
  return &detail::fma_lanes_portable;
}

}  // namespace zrt::inline ZRT_ABI::pm4::emulator
ZRT_FP_END
