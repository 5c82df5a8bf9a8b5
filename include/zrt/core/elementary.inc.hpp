// SPDX-License-Identifier: Apache-2.0
// zrt/core/elementary.inc.hpp: a textual fragment, included inside a namespace which supplies a lane type and its operations.
//
// The elementary functions, one algorithm for all widths. The namespace supplies F32, I32, Mask and
// the operations of core/elementary_ops.hpp. Polynomials are least-maximum fits of zrt's own, their
// relative error beside them; errors of whole functions are measured by tests/property/elementary.cpp
// and stand in core/elementary.hpp. A product never feeds a sum: it is fused, sealed, or only an
// addend of an fma.

// Lanes that are several registers would make each copy of these functions several times as long.
#if defined(ZRT_VARIANT) && ZRT_VARIANT <= 2
#define ZRT_ELEMENTARY [[gnu::noinline]] inline
#else
#define ZRT_ELEMENTARY ZRT_ALWAYS_INLINE
#endif

/// e^x.
[[nodiscard]] ZRT_ELEMENTARY F32 exp(F32 x) noexcept {
  // Beyond these bounds the answer is 0 and infinity; NaN passes through both.
  const F32 bounded = max(splat(-104.0f), min(splat(89.0f), x));
  const F32 n = round_even(sealed(bounded * splat(0x1.715476p+0f)));
  F32 r = fma(n, splat(-0x1.62e43p-1f), bounded);
  r = fma(n, splat(0x1.05c61p-29f), r);
  // (e^r - 1 - r) / r^2 on |r| <= ln(2)/2; e^r within 2^-28.2.
  F32 q = splat(0x1.6a5e62p-10f);
  q = fma(q, r, splat(0x1.123ad8p-7f));
  q = fma(q, r, splat(0x1.5558a2p-5f));
  q = fma(q, r, splat(0x1.555490p-3f));
  q = fma(q, r, splat(0x1.fffffcp-2f));
  const F32 above_one = fma(r * r, q, r);
  return scale_pow2(above_one + splat(1.0f), to_i32(n));
}

/// The natural logarithm.
[[nodiscard]] ZRT_ELEMENTARY F32 log(F32 x) noexcept {
  const Mask tiny = less(x, splat(0x1p-126f));
  const I32 bits = as_i32(select(tiny, x * splat(0x1p23f), x));
  // x = 2^k * m with m in [sqrt(1/2), sqrt(2)).
  const I32 k = shift_right<23>(isub(bits, splat_i32(0x3f3504f3)));
  const F32 f = as_f32(isub(bits, shift_left<23>(k))) - splat(1.0f);
  const F32 exponent = to_f32(iselect(tiny, isub(k, splat_i32(23)), k));
  // (log(1 + f) - f + f^2/2) / f^3; the logarithm within 2^-27.3.
  F32 q = splat(-0x1.38e2c6p-4f);
  q = fma(q, f, splat(0x1.056d14p-3f));
  q = fma(q, f, splat(-0x1.0d84dep-3f));
  q = fma(q, f, splat(0x1.22d77ep-3f));
  q = fma(q, f, splat(-0x1.547210p-3f));
  q = fma(q, f, splat(0x1.99a028p-3f));
  q = fma(q, f, splat(-0x1.000228p-2f));
  q = fma(q, f, splat(0x1.555554p-2f));
  const F32 small = fma(exponent, splat(-0x1.05c61p-29f), sealed((f * f) * fma(f, q, splat(-0.5f))));
  F32 result = fma(exponent, splat(0x1.62e43p-1f), f + small);
  const F32 infinity = as_f32(splat_i32(0x7f800000));
  result = select(equal(x, infinity), x, result);
  result = select(equal(x, splat(0.0f)), -infinity, result);
  // NaN for what is below zero and for NaN itself.
  return select(less_equal(splat(0.0f), x), result, as_f32(splat_i32(0x7fc00000)));
}

/// log(1 + x) for x >= 0, of full relative accuracy when x is small.
[[nodiscard]] ZRT_ELEMENTARY F32 log1p(F32 x) noexcept {
  const F32 u = x + splat(1.0f);
  // What the sum lost, to first order; an infinity lost nothing.
  const F32 lost = (x - (u - splat(1.0f))) / u;
  return log(u) + select(less(u, as_f32(splat_i32(0x7f800000))), lost, splat(0.0f));
}

/// The sine and cosine of one angle in radians.
struct SinCos {
  F32 sin;
  F32 cos;
};

/// Sine and cosine together, for every finite angle; NaN for infinities.
[[nodiscard]] inline SinCos sincos(F32 x) noexcept {
  F32 n = round_even(sealed(x * splat(0x1.45f306p-1f)));
  // pi/2 in three parts. For |n| < 2^20 the first difference is exact.
  F32 r = fma(n, splat(-0x1.921fb6p+0f), x);
  r = fma(n, splat(0x1.777a5cp-25f), r);
  r = fma(n, splat(0x1.ee59dap-50f), r);
  const Mask large = invert(less(abs(x), splat(0x1p20f)));
  if (any(large)) {
    r = select(large, each_lane(&::zrt::math::large_angle_rest, x), r);
    n = select(large, each_lane(&::zrt::math::large_angle_quarter, x), n);
  }
  const I32 quarter = to_i32(n);
  const F32 z = r * r;
  // (sin r - r) / r^3 in r^2 on |r| <= pi/4; the sine within 2^-28.
  F32 p = splat(-0x1.99547ap-13f);
  p = fma(p, z, splat(0x1.11077ap-7f));
  p = fma(p, z, splat(-0x1.555546p-3f));
  const F32 sine = fma(r * z, p, r);
  // (cos r - 1 + r^2/2) / r^4 in r^2; the cosine within 2^-33.
  F32 c = splat(0x1.99e9c2p-16f);
  c = fma(c, z, splat(-0x1.6c0c2cp-10f));
  c = fma(c, z, splat(0x1.55554ap-5f));
  c = fma(c, z, splat(-0.5f));
  const F32 cosine = fma(c, z, splat(1.0f));
  const Mask odd = iequal(iand(quarter, splat_i32(1)), splat_i32(1));
  const I32 sine_sign = shift_left<30>(iand(quarter, splat_i32(2)));
  const I32 cosine_sign = shift_left<30>(iand(iadd(quarter, splat_i32(1)), splat_i32(2)));
  SinCos result;
  result.sin = as_f32(ixor(as_i32(select(odd, cosine, sine)), sine_sign));
  result.cos = as_f32(ixor(as_i32(select(odd, sine, cosine)), cosine_sign));
  // The reduction loses the sign of -0.
  result.sin = select(equal(x, splat(0.0f)), x, result.sin);
  return result;
}

[[nodiscard]] inline F32 sin(F32 x) noexcept { return sincos(x).sin; }
[[nodiscard]] inline F32 cos(F32 x) noexcept { return sincos(x).cos; }

[[nodiscard]] ZRT_ELEMENTARY F32 tanh(F32 x) noexcept {
  const F32 a = abs(x);
  const F32 z = x * x;
  // (tanh x - x) / x^3 in x^2 on |x| <= 0.65; within 2^-27.
  F32 p = splat(-0x1.6a493ep-8f);
  p = fma(p, z, splat(0x1.4f96fep-6f));
  p = fma(p, z, splat(-0x1.b7d9f6p-5f));
  p = fma(p, z, splat(0x1.11044cp-3f));
  p = fma(p, z, splat(-0x1.555526p-2f));
  const F32 near_zero = fma(x * z, p, x);
  const F32 far = splat(1.0f) - splat(2.0f) / (exp(a + a) + splat(1.0f));
  return copysign(select(less(a, splat(0.625f)), near_zero, far), x);
}

/// The error function.
[[nodiscard]] inline F32 erf(F32 x) noexcept {
  const F32 z = x * x;
  // erf(x) / x - 1 in x^2 on |x| <= 0.93; within 2^-29.9.
  F32 p = splat(0x1.5c2d68p-14f);
  p = fma(p, z, splat(-0x1.a9fdb6p-11f));
  p = fma(p, z, splat(0x1.54be04p-8f));
  p = fma(p, z, splat(-0x1.b80d1ap-6f));
  p = fma(p, z, splat(0x1.ce2deep-4f));
  p = fma(p, z, splat(-0x1.812742p-2f));
  p = fma(p, z, splat(0x1.06eba8p-3f));
  const F32 near_zero = fma(x, p, x);
  // -log(1 - erf(t + 2)) for |x| from 0.92 to 3.95, where the answer has become 1.
  const F32 t = min(splat(3.95f), abs(x)) - splat(2.0f);
  F32 q = splat(-0x1.99f55ep-13f);
  q = fma(q, t, splat(0x1.6ac0c8p-11f));
  q = fma(q, t, splat(-0x1.d1be6ap-9f));
  q = fma(q, t, splat(0x1.0e36fep-6f));
  q = fma(q, t, splat(0x1.d8f6d4p-1f));
  q = fma(q, t, splat(0x1.1ac324p+2f));
  q = fma(q, t, splat(0x1.575b32p+2f));
  const F32 far = splat(1.0f) - exp(-q);
  return copysign(select(less(abs(x), splat(0.925f)), near_zero, far), x);
}

/// x^y, with the special cases of the C standard.
[[nodiscard]] inline F32 pow(F32 x, F32 y) noexcept {
  const F32 infinity = as_f32(splat_i32(0x7f800000));
  const F32 zero = splat(0.0f);
  const F32 one = splat(1.0f);
  const F32 base = abs(x);
  const Mask tiny = less(base, splat(0x1p-126f));
  const I32 bits = as_i32(select(tiny, base * splat(0x1p23f), base));
  const I32 k = shift_right<23>(isub(bits, splat_i32(0x3f3504f3)));
  const F32 m = as_f32(isub(bits, shift_left<23>(k)));
  const F32 exponent = to_f32(iselect(tiny, isub(k, splat_i32(23)), k));

  // log2(m) = (2 / ln 2) * (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1), each step with its
  // rounding error carried in a second float: y * log2(x) reaches 128, seven bits too many for one.
  const F32 f = m - one;
  const F32 u = m + one;
  const F32 u_lost = m - (u - one);
  const F32 s = f / u;
  const F32 s_lost = fma(-s, u_lost, fma(-s, u, f)) / u;
  const F32 z = s * s;
  const F32 z_lost = fma(s + s, s_lost, fma(s, s, -z));
  // The series from s^4 / 5 on, in s^2; within 2^-35 of the logarithm.
  F32 p = splat(0x1.59ee12p-2f);
  p = fma(p, z, splat(0x1.a5bbfap-2f));
  p = fma(p, z, splat(0x1.27770ep-1f));
  const F32 tail = fma(p, z, splat(-0x1.e2fe02p-28f));
  const F32 third = splat(0x1.ec709ep-1f);
  const F32 t = third + tail;
  const F32 t_lost = tail - (t - third);
  const F32 cube = z * s;
  const F32 cube_lost = fma(z, s_lost, fma(z_lost, s, fma(z, s, -cube)));
  const F32 cubic = sealed(cube * t);
  const F32 cubic_lost = fma(cube, t_lost, fma(cube_lost, t, fma(cube, t, -cubic)));
  const F32 two_over_ln2 = splat(0x1.715476p+1f);
  const F32 linear = sealed(two_over_ln2 * s);
  const F32 linear_lost = fma(two_over_ln2, s_lost, fma(splat(0x1.4ae0cp-25f), s, fma(two_over_ln2, s, -linear)));
  const F32 mantissa_log = linear + cubic;
  const F32 mantissa_lost = cubic - (mantissa_log - linear);
  const F32 sum = exponent + mantissa_log;
  const F32 sum_lost = (mantissa_log - (sum - exponent)) + (mantissa_lost + (linear_lost + cubic_lost));
  F32 log2 = sum + sum_lost;
  F32 log2_lost = sum_lost - (log2 - sum);
  const Mask base_zero = equal(base, zero);
  const Mask base_special = either(base_zero, equal(base, infinity));
  log2 = select(base_special, select(base_zero, -infinity, infinity), log2);
  log2_lost = select(base_special, zero, log2_lost);

  // Beyond these bounds the answer is 0 and infinity.
  const F32 product = sealed(y * log2);
  const F32 bounded = max(splat(-152.0f), min(splat(130.0f), product));
  const F32 product_lost = select(equal(product, bounded), fma(y, log2_lost, fma(y, log2, -product)), zero);
  const F32 n = round_even(bounded);
  const F32 r = (bounded - n) + product_lost;
  // (2^r - 1) / r on |r| <= 1/2; 2^r within 2^-27.8.
  F32 e = splat(0x1.3ed438p-13f);
  e = fma(e, r, splat(0x1.5f0f86p-10f));
  e = fma(e, r, splat(0x1.3b31fp-7f));
  e = fma(e, r, splat(0x1.c6af7p-5f));
  e = fma(e, r, splat(0x1.ebfbd6p-3f));
  e = fma(e, r, splat(0x1.62e43p-1f));
  F32 result = scale_pow2(fma(e, r, one), to_i32(n));

  const Mask base_one = equal(base, one);
  result = select(base_one, one, result);
  // A negative base: odd powers are negative, powers that are no whole number do not exist.
  const F32 half = sealed(y * splat(0.5f));
  const Mask whole = equal(round_even(y), y);
  const Mask odd = both(whole, invert(equal(round_even(half), half)));
  const Mask negative = igreater(splat_i32(0), as_i32(x));
  result = select(both(negative, odd), -result, result);
  const F32 nan = as_f32(splat_i32(0x7fc00000));
  const Mask impossible = both(both(less(x, zero), less(base, infinity)), invert(whole));
  const Mask unknown = either(is_nan(x), is_nan(y));
  result = select(either(impossible, unknown), nan, result);
  return select(either(equal(y, zero), equal(x, one)), one, result);
}

/// 1 / (1 + e^-x), for x < 0 as e^x / (1 + e^x), which does not overflow.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 sigmoid(F32 x) noexcept {
  const F32 e = exp(-abs(x));
  return select(less(x, splat(0.0f)), e, splat(1.0f)) / (e + splat(1.0f));
}

/// x * sigmoid(x). Below -87, where e^x is a denormal, the absolute error stays below 2^-142.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 silu(F32 x) noexcept {
  const F32 e = exp(-abs(x));
  return (x * select(less(x, splat(0.0f)), e, splat(1.0f))) / (e + splat(1.0f));
}

/// x/2 * (1 + erf(x / sqrt 2)).
[[nodiscard]] ZRT_ALWAYS_INLINE F32 gelu(F32 x) noexcept {
  const F32 inner = erf(sealed(x * splat(0x1.6a09e6p-1f)));
  return sealed((x * splat(0.5f)) * (inner + splat(1.0f)));
}

/// x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), the inner sum as x * (a + b x^2).
[[nodiscard]] ZRT_ALWAYS_INLINE F32 gelu_tanh(F32 x) noexcept {
  const F32 slope = fma(x * x, splat(0x1.2444f2p-5f), splat(0x1.988454p-1f));
  return sealed((x * splat(0.5f)) * (tanh(sealed(x * slope)) + splat(1.0f)));
}

/// max(x, 0): 0 below 0, else x itself, NaN and -0 too.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 relu(F32 x) noexcept { return select(less(x, splat(0.0f)), splat(0.0f), x); }

/// max(x, 0)^2; NaN stays NaN.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 relu2(F32 x) noexcept {
  const F32 positive = max(splat(0.0f), x);
  return sealed(positive * positive);
}

/// g * sigmoid(1.702 g) with g = min(x, 7): the gate of gpt-oss; NaN stays NaN.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 swiglu_oai_gate(F32 x) noexcept {
  const F32 g = min(splat(7.0f), x);
  const F32 s = sealed(g * splat(1.702f));
  const F32 e = exp(-abs(s));
  return (g * select(less(s, splat(0.0f)), e, splat(1.0f))) / (e + splat(1.0f));
}
/// clamp(x, -7, 7) + 1, its factor; NaN stays NaN.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 swiglu_oai_up(F32 x) noexcept {
  return max(splat(-7.0f), min(splat(7.0f), x)) + splat(1.0f);
}

/// log(1 + e^x), as max(x, 0) + log1p(e^-|x|); NaN stays NaN.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 softplus(F32 x) noexcept { return max(splat(0.0f), x) + log1p(exp(-abs(x))); }

#undef ZRT_ELEMENTARY
