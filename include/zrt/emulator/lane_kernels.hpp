// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/lane_kernels.hpp: loops over 32 lanes that the baseline instruction set makes slow.
#pragma once

#include <zrt/emulator/isa/types.hpp>

#include <bit>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::emulator {

/// Which factor of a multiply-add is one word for all lanes.
enum class OneWord : u8 { none, first, second };

/// Functions chosen once by what the processor has; the bits are the same either way, but for what a NaN carries.
struct LaneKernels {
  /// d[i] = a[i] * b[i] + c[i] in f32, rounded once; d may be a source. a or b is one word for all lanes as `one` tells.
  void (*fma)(OneWord one, const u32* a, const u32* b, const u32* c, u32* d) noexcept = nullptr;
  /// d[i] = c[i] + the sum of the products of the four bytes of a[i] and b[i], or b[0] where `one`; a byte is signed where
  /// its `top` is 0x80. d may be a source.
  void (*dot_bytes)(bool one, const u32* a, const u32* b, const u32* c, u32 top_a, u32 top_b,
                    u32* d) noexcept = nullptr;
  /// d[i] = the f32 of the half in a[i] at bit `shift`, as to_f32 gives it.
  void (*widen)(const u32* a, unsigned shift, u32* d) noexcept = nullptr;
};

/// The f32 of the half in the low 16 bits, as to_f32 gives it; without a branch, so that loops become vector code.
[[nodiscard]] ZRT_ALWAYS_INLINE u32 widened_half(u32 half) noexcept {
  const u32 magnitude = (half & 0x7fffu) << 13;
  // The exponent's bias moves by 112, exactly; subnormal halves become normal on the way.
  const u32 finite = std::bit_cast<u32>(std::bit_cast<f32>(magnitude) * 0x1p112f);
  constexpr u32 kInfinity = 0x0f800000u;
  const u32 special = (magnitude >= kInfinity ? 0x7f800000u : 0u) | (magnitude > kInfinity ? 0x400000u : 0u);
  return (half & 0x8000u) << 16 | finite | special;
}

/// The dot product of the elements of two words, kBits each; `top` is an element's sign bit, or 0.
template <unsigned kBits>
[[nodiscard]] ZRT_ALWAYS_INLINE u32 dot_elements(u32 a, u32 b, u32 top_a, u32 top_b) noexcept {
  constexpr u32 kMask = (u32{1} << kBits) - 1;
  u32 sum = 0;
  for (unsigned shift = 0; shift < 32; shift += kBits)
    sum += (((a >> shift & kMask) ^ top_a) - top_a) * (((b >> shift & kMask) ^ top_b) - top_b);
  return sum;
}

namespace detail {

inline void fma_portable(OneWord one, const u32* a, const u32* b, const u32* c, u32* d) noexcept {
  const unsigned step_a = one == OneWord::first ? 0 : 1, step_b = one == OneWord::second ? 0 : 1;
  for (unsigned i = 0; i < kLanes; ++i)
    d[i] = std::bit_cast<u32>(
        __builtin_fmaf(std::bit_cast<f32>(a[i * step_a]), std::bit_cast<f32>(b[i * step_b]), std::bit_cast<f32>(c[i])));
}
inline void dot_bytes_portable(bool one, const u32* a, const u32* b, const u32* c, u32 top_a, u32 top_b,
                               u32* d) noexcept {
  for (unsigned i = 0; i < kLanes; ++i) d[i] = c[i] + dot_elements<8>(a[i], b[one ? 0 : i], top_a, top_b);
}
inline void widen_portable(const u32* a, unsigned shift, u32* __restrict d) noexcept {
  for (unsigned i = 0; i < kLanes; ++i) d[i] = widened_half(a[i] >> shift);
}

#if defined(__x86_64__) && !defined(__FMA__)
[[gnu::target("avx2,fma,f16c")]] inline void widen_avx2(const u32* a, unsigned shift, u32* d) noexcept {
  typedef u32 Block __attribute__((vector_size(32)));
  typedef short Halves __attribute__((vector_size(32)));
  typedef f32 Floats __attribute__((vector_size(32)));
  for (unsigned i = 0; i < kLanes; i += 8) {
    Block x;
    __builtin_memcpy(&x, a + i, sizeof x);
    const auto halves = reinterpret_cast<Halves>(x >> shift);
    const Floats wide = __builtin_ia32_vcvtph2ps256(__builtin_shufflevector(halves, halves, 0, 2, 4, 6, 8, 10, 12, 14));
    __builtin_memcpy(d + i, &wide, sizeof wide);
  }
}
template <OneWord kOne>
[[gnu::target("avx2,fma")]] void fma_lanes_avx2(const u32* a, const u32* b, const u32* c, u32* d) noexcept {
  typedef f32 Block __attribute__((vector_size(32)));
  const auto one = std::bit_cast<f32>(kOne == OneWord::first ? a[0] : b[0]);
  for (unsigned i = 0; i < kLanes; i += 8) {
    Block x{}, y{}, z;
    if constexpr (kOne != OneWord::first) __builtin_memcpy(&x, a + i, sizeof x);
    if constexpr (kOne != OneWord::second) __builtin_memcpy(&y, b + i, sizeof y);
    __builtin_memcpy(&z, c + i, sizeof z);
    for (unsigned j = 0; j < 8; ++j)
      z[j] = __builtin_fmaf(kOne == OneWord::first ? one : x[j], kOne == OneWord::second ? one : y[j], z[j]);
    __builtin_memcpy(d + i, &z, sizeof z);
  }
}
[[gnu::target("avx2,fma")]] inline void fma_avx2(OneWord one, const u32* a, const u32* b, const u32* c,
                                                 u32* d) noexcept {
  switch (one) {
    case OneWord::none:
      return fma_lanes_avx2<OneWord::none>(a, b, c, d);
    case OneWord::first:
      return fma_lanes_avx2<OneWord::first>(a, b, c, d);
    case OneWord::second:
      return fma_lanes_avx2<OneWord::second>(a, b, c, d);
  }
}
/// Bytes as 16 bits, even ones then odd ones: their products' sums in pairs are one instruction.
[[gnu::target("avx2,fma")]] inline void dot_bytes_avx2(bool one, const u32* a, const u32* b, const u32* c, u32 top_a,
                                                       u32 top_b, u32* d) noexcept {
  typedef u16 Halves __attribute__((vector_size(32)));
  typedef short Signed __attribute__((vector_size(32)));
  typedef u32 Block __attribute__((vector_size(32)));
  const auto wide_a = static_cast<u16>(top_a), wide_b = static_cast<u16>(top_b);
  const Block word = Block{} + b[0];
  const auto same = reinterpret_cast<Halves>(word);
  Halves even_y = ((same & 0xff) ^ wide_b) - wide_b, odd_y = ((same >> 8) ^ wide_b) - wide_b;
  for (unsigned i = 0; i < kLanes; i += 8) {
    Halves x, y;
    Block addend;
    __builtin_memcpy(&x, a + i, sizeof x);
    __builtin_memcpy(&addend, c + i, sizeof addend);
    if (!one) {
      __builtin_memcpy(&y, b + i, sizeof y);
      even_y = ((y & 0xff) ^ wide_b) - wide_b;
      odd_y = ((y >> 8) ^ wide_b) - wide_b;
    }
    const Halves even_x = ((x & 0xff) ^ wide_a) - wide_a, odd_x = ((x >> 8) ^ wide_a) - wide_a;
    const auto even = __builtin_ia32_pmaddwd256(reinterpret_cast<Signed>(even_x), reinterpret_cast<Signed>(even_y));
    const auto odd = __builtin_ia32_pmaddwd256(reinterpret_cast<Signed>(odd_x), reinterpret_cast<Signed>(odd_y));
    // The sum may wrap, which signed words must not.
    const Block sum = addend + reinterpret_cast<Block>(even) + reinterpret_cast<Block>(odd);
    __builtin_memcpy(d + i, &sum, sizeof sum);
  }
}
#endif

}  // namespace detail

[[nodiscard]] inline LaneKernels lane_kernels() noexcept {
#if defined(__x86_64__) && !defined(__FMA__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return {&detail::fma_avx2, &detail::dot_bytes_avx2, &detail::widen_avx2};
#endif
  return {&detail::fma_portable, &detail::dot_bytes_portable, &detail::widen_portable};
}

}  // namespace zrt::inline ZRT_ABI::emulator
ZRT_FP_END
