// SPDX-License-Identifier: Apache-2.0
// zrt/core/elementary_ops.hpp: the operations of one float lane on which the elementary functions stand.
#pragma once

#include <zrt/core/config.hpp>

#include <bit>
#include <cstdint>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::math {

// The lane of this namespace is one float. A SIMD variant supplies the same names for its own width
// and gives the same bits, NaN payloads apart.
using F32 = float;
using I32 = std::int32_t;
using Mask = bool;

/// Returns `x` as a rounded f32 that no compiler may fuse with the operation that made it.
///
/// A function of this library that ends in a product seals it, because an inline function is
/// subject to the contraction mode of its caller.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 sealed(F32 x) noexcept {
  if (!__builtin_is_constant_evaluated()) {
#if defined(__x86_64__)
    __asm__("" : "+x"(x));
#elif defined(__aarch64__)
    __asm__("" : "+w"(x));
#else
    __asm__("" : "+m"(x));
#endif
  }
  return x;
}

/// The same for an f64.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr double sealed(double x) noexcept {
  if (!__builtin_is_constant_evaluated()) {
#if defined(__x86_64__)
    __asm__("" : "+x"(x));
#elif defined(__aarch64__)
    __asm__("" : "+w"(x));
#else
    __asm__("" : "+m"(x));
#endif
  }
  return x;
}

[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 splat(float x) noexcept { return x; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr I32 splat_i32(std::int32_t x) noexcept { return x; }

[[nodiscard]] ZRT_ALWAYS_INLINE constexpr I32 as_i32(F32 x) noexcept { return std::bit_cast<I32>(x); }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 as_f32(I32 x) noexcept { return std::bit_cast<F32>(x); }

// Integer lanes wrap.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr I32 iadd(I32 a, I32 b) noexcept {
  return static_cast<I32>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr I32 isub(I32 a, I32 b) noexcept {
  return static_cast<I32>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr I32 iand(I32 a, I32 b) noexcept { return a & b; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr I32 ior(I32 a, I32 b) noexcept { return a | b; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr I32 ixor(I32 a, I32 b) noexcept { return a ^ b; }
template <int kBits> [[nodiscard]] ZRT_ALWAYS_INLINE constexpr I32 shift_left(I32 a) noexcept {
  return static_cast<I32>(static_cast<std::uint32_t>(a) << kBits);
}
/// Shifts right and fills with the sign.
template <int kBits> [[nodiscard]] ZRT_ALWAYS_INLINE constexpr I32 shift_right(I32 a) noexcept { return a >> kBits; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr Mask iequal(I32 a, I32 b) noexcept { return a == b; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr Mask igreater(I32 a, I32 b) noexcept { return a > b; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr I32 iselect(Mask m, I32 a, I32 b) noexcept { return m ? a : b; }

[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 fma(F32 a, F32 b, F32 c) noexcept { return __builtin_fmaf(a, b, c); }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 abs(F32 a) noexcept { return as_f32(as_i32(a) & 0x7fffffff); }
/// The square root, rounded correctly.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 sqrt(F32 a) noexcept { return __builtin_sqrtf(a); }
/// a < b ? a : b, so that b is the answer when either is NaN and when both are zeros.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 min(F32 a, F32 b) noexcept { return a < b ? a : b; }
/// a > b ? a : b, so that b is the answer when either is NaN and when both are zeros.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 max(F32 a, F32 b) noexcept { return a > b ? a : b; }
/// The magnitude of `a` with the sign bit of `b`.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 copysign(F32 a, F32 b) noexcept {
  return as_f32((as_i32(a) & 0x7fffffff) | (as_i32(b) & INT32_MIN));
}

// Comparisons with NaN are false.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr Mask less(F32 a, F32 b) noexcept { return a < b; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr Mask less_equal(F32 a, F32 b) noexcept { return a <= b; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr Mask equal(F32 a, F32 b) noexcept { return a == b; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr Mask is_nan(F32 a) noexcept { return a != a; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr Mask both(Mask a, Mask b) noexcept { return a && b; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr Mask either(Mask a, Mask b) noexcept { return a || b; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr Mask invert(Mask a) noexcept { return !a; }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr bool any(Mask a) noexcept { return a; }
/// Applies a scalar function to each lane.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 each_lane(float (*function)(float) noexcept, F32 x) noexcept { return function(x); }
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 select(Mask m, F32 a, F32 b) noexcept { return m ? a : b; }

/// The nearest whole number, ties to even, with the sign of `x`; infinities stay, NaN stays NaN.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 round_even(F32 x) noexcept {
  const F32 magnitude = sealed(abs(x));
  // At 2^23 the last bit of an f32 is 1, so the sum rounds and the difference is exact.
  if (!(magnitude < 0x1p23f)) return x;
  return copysign((magnitude + 0x1p23f) - 0x1p23f, x);
}
/// round_even(x) as an integer; INT32_MIN for NaN and for what does not fit.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr I32 to_i32(F32 x) noexcept {
  const F32 rounded = round_even(x);
  return rounded >= -0x1p31f && rounded < 0x1p31f ? static_cast<I32>(rounded) : INT32_MIN;
}
/// The nearest f32, ties to even.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 to_f32(I32 x) noexcept { return static_cast<F32>(x); }

/// x * 2^n rounded once, for |n| <= 160 and x zero, not finite, or in 2^-40 <= |x| <= 2^40.
///
/// The first of the two factors leaves a normal number, so only the second product rounds.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr F32 scale_pow2(F32 x, I32 n) noexcept {
  const I32 first = shift_right<1>(n);
  const I32 second = isub(n, first);
  const F32 scaled = x * as_f32(shift_left<23>(iadd(first, 127)));
  return sealed(scaled * as_f32(shift_left<23>(iadd(second, 127))));
}

static_assert(round_even(2.5f) == 2.0f && round_even(-3.5f) == -4.0f && to_i32(-0.5f) == 0);
static_assert(to_i32(0x1p31f) == INT32_MIN && scale_pow2(1.5f, -149) == 0x1p-148f);

}  // namespace zrt::inline ZRT_ABI::math
ZRT_FP_END
