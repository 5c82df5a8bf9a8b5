// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/elementary.h: zrt's elementary functions of f32, the algorithms of core/elementary.inc.hpp bit for bit.
#pragma once

#include "place.h"

ZRT_INLINE float larger(float a, float b) { return a > b ? a : b; }
ZRT_INLINE float smaller(float a, float b) { return a < b ? a : b; }
ZRT_INLINE float magnitude_of(float x) { return bits_to_float(float_to_bits(x) & 0x7fffffffu); }
ZRT_INLINE float with_sign(float a, float b) {
  return bits_to_float((float_to_bits(a) & 0x7fffffffu) | (float_to_bits(b) & 0x80000000u));
}
ZRT_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ZRT_INLINE float round_even(float x) { return __builtin_rintf(x); }

/// x * 2^n in two steps, of which only the second rounds.
ZRT_INLINE float scale_pow2(float x, int n) {
  const int first = n >> 1, second = n - first;
  const float scaled = x * bits_to_float((uint)(first + 127) << 23);
  return scaled * bits_to_float((uint)(second + 127) << 23);
}

ZRT_INLINE float exp_of(float x) {
  const float bounded = larger(-104.0f, smaller(89.0f, x));
  const float n = round_even(bounded * 0x1.715476p+0f);
  float r = fused(n, -0x1.62e43p-1f, bounded);
  r = fused(n, 0x1.05c61p-29f, r);
  float q = 0x1.6a5e62p-10f;
  q = fused(q, r, 0x1.123ad8p-7f);
  q = fused(q, r, 0x1.5558a2p-5f);
  q = fused(q, r, 0x1.555490p-3f);
  q = fused(q, r, 0x1.fffffcp-2f);
  const float above_one = fused(r * r, q, r);
  return scale_pow2(above_one + 1.0f, (int)n);
}

struct SinCos {
  float sin, cos;
};

/// Bits `at` to `at` + 31 of 2/pi behind the point, where the first 32 are zeros; at is below 128.
ZRT_INLINE ulong two_over_pi(uint at) {
  const uint high = at < 32 ? 0 : at < 64 ? 0xa2f9836e : at < 96 ? 0x4e441529 : 0xfc2757d1;
  const uint low = at < 32 ? 0xa2f9836e : at < 64 ? 0x4e441529 : at < 96 ? 0xfc2757d1 : 0xf534ddc0;
  return ((ulong)high << 32 | low) >> (32 - at % 32) & 0xffffffffu;
}

struct Reduced {
  float rest, quarter;
};

/// An angle from 2^20 to 2^57 by the bits of 2/pi in integers, as the library has it.
ZRT_INLINE struct Reduced reduce_large(float x) {
  const uint bits = float_to_bits(x);
  const ulong mantissa = (bits & 0x7fffffu) | 0x800000u;
  const uint skip = (bits >> 23 & 255u) - 120u;
  const ulong high = two_over_pi(skip) << 32 | two_over_pi(skip + 32);
  const ulong turns = mantissa * high + (mantissa * two_over_pi(skip + 64) >> 32);
  const ulong quarter = (turns + (1ul << 61)) >> 62;
  const long rest = (long)(turns - (quarter << 62));
  const struct Reduced r = {(float)((double)rest * (0x1.921fb54442d18p+0 * 0x1p-62)), (float)(uint)(quarter & 3u)};
  return r;
}

ZRT_INLINE struct SinCos sincos_of(float x) {
  float n = round_even(x * 0x1.45f306p-1f);
  float r = fused(n, -0x1.921fb6p+0f, x);
  r = fused(n, 0x1.777a5cp-25f, r);
  r = fused(n, 0x1.ee59dap-50f, r);
  if (magnitude_of(x) >= 0x1p20f) {
    const struct Reduced large = reduce_large(x);
    r = large.rest;
    n = large.quarter;
  }
  const int quarter = (int)n;
  const float z = r * r;
  float p = -0x1.99547ap-13f;
  p = fused(p, z, 0x1.11077ap-7f);
  p = fused(p, z, -0x1.555546p-3f);
  const float sine = fused(r * z, p, r);
  float c = 0x1.99e9c2p-16f;
  c = fused(c, z, -0x1.6c0c2cp-10f);
  c = fused(c, z, 0x1.55554ap-5f);
  c = fused(c, z, -0.5f);
  const float cosine = fused(c, z, 1.0f);
  const bool odd = (quarter & 1) != 0;
  struct SinCos y;
  y.sin = bits_to_float(float_to_bits(odd ? cosine : sine) ^ (uint)(quarter & 2) << 30);
  y.cos = bits_to_float(float_to_bits(odd ? sine : cosine) ^ (uint)((quarter + 1) & 2) << 30);
  y.sin = x == 0.0f ? x : y.sin;
  return y;
}

ZRT_INLINE float tanh_of(float x) {
  const float a = magnitude_of(x);
  const float z = x * x;
  float p = -0x1.6a493ep-8f;
  p = fused(p, z, 0x1.4f96fep-6f);
  p = fused(p, z, -0x1.b7d9f6p-5f);
  p = fused(p, z, 0x1.11044cp-3f);
  p = fused(p, z, -0x1.555526p-2f);
  const float near_zero = fused(x * z, p, x);
  const float far = 1.0f - 2.0f / (exp_of(a + a) + 1.0f);
  return with_sign(a < 0.625f ? near_zero : far, x);
}

ZRT_INLINE float erf_of(float x) {
  const float z = x * x;
  float p = 0x1.5c2d68p-14f;
  p = fused(p, z, -0x1.a9fdb6p-11f);
  p = fused(p, z, 0x1.54be04p-8f);
  p = fused(p, z, -0x1.b80d1ap-6f);
  p = fused(p, z, 0x1.ce2deep-4f);
  p = fused(p, z, -0x1.812742p-2f);
  p = fused(p, z, 0x1.06eba8p-3f);
  const float near_zero = fused(x, p, x);
  const float t = smaller(3.95f, magnitude_of(x)) - 2.0f;
  float q = -0x1.99f55ep-13f;
  q = fused(q, t, 0x1.6ac0c8p-11f);
  q = fused(q, t, -0x1.d1be6ap-9f);
  q = fused(q, t, 0x1.0e36fep-6f);
  q = fused(q, t, 0x1.d8f6d4p-1f);
  q = fused(q, t, 0x1.1ac324p+2f);
  q = fused(q, t, 0x1.575b32p+2f);
  const float far = 1.0f - exp_of(-q);
  return with_sign(magnitude_of(x) < 0.925f ? near_zero : far, x);
}

ZRT_INLINE float log_of(float x) {
  const bool tiny = x < 0x1p-126f;
  const int bits = (int)float_to_bits(tiny ? x * 0x1p23f : x);
  const int k = (bits - 0x3f3504f3) >> 23;
  const float f = bits_to_float((uint)bits - ((uint)k << 23)) - 1.0f;
  const float exponent = (float)(tiny ? k - 23 : k);
  float q = -0x1.38e2c6p-4f;
  q = fused(q, f, 0x1.056d14p-3f);
  q = fused(q, f, -0x1.0d84dep-3f);
  q = fused(q, f, 0x1.22d77ep-3f);
  q = fused(q, f, -0x1.547210p-3f);
  q = fused(q, f, 0x1.99a028p-3f);
  q = fused(q, f, -0x1.000228p-2f);
  q = fused(q, f, 0x1.555554p-2f);
  const float small = fused(exponent, -0x1.05c61p-29f, (f * f) * fused(f, q, -0.5f));
  float result = fused(exponent, 0x1.62e43p-1f, f + small);
  result = x == __builtin_inff() ? x : result;
  result = x == 0.0f ? -__builtin_inff() : result;
  return 0.0f <= x ? result : bits_to_float(0x7fc00000u);
}
ZRT_INLINE float log1p_of(float x) {
  const float u = x + 1.0f;
  const float lost = (x - (u - 1.0f)) / u;
  return log_of(u) + (u < __builtin_inff() ? lost : 0.0f);
}

ZRT_INLINE float sigmoid_of(float x) {
  const float e = exp_of(-magnitude_of(x));
  return (x < 0.0f ? e : 1.0f) / (e + 1.0f);
}
ZRT_INLINE float softplus_of(float x) { return larger(0.0f, x) + log1p_of(exp_of(-magnitude_of(x))); }
ZRT_INLINE float silu_of(float x) {
  const float e = exp_of(-magnitude_of(x));
  return (x * (x < 0.0f ? e : 1.0f)) / (e + 1.0f);
}
ZRT_INLINE float gelu_of(float x) {
  const float inner = erf_of(x * 0x1.6a09e6p-1f);
  return (x * 0.5f) * (inner + 1.0f);
}
ZRT_INLINE float gelu_tanh_of(float x) {
  const float slope = fused(x * x, 0x1.2444f2p-5f, 0x1.988454p-1f);
  return (x * 0.5f) * (tanh_of(x * slope) + 1.0f);
}
ZRT_INLINE float relu2_of(float x) {
  const float positive = larger(0.0f, x);
  return positive * positive;
}
ZRT_INLINE float swiglu_oai_gate_of(float x) {
  const float g = smaller(7.0f, x);
  const float s = g * 1.702f;
  const float e = exp_of(-magnitude_of(s));
  return (g * (s < 0.0f ? e : 1.0f)) / (e + 1.0f);
}
ZRT_INLINE float swiglu_oai_up_of(float x) { return larger(-7.0f, smaller(7.0f, x)) + 1.0f; }
