// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/elementary.glsl: zrt's elementary functions of f32, the algorithms of core/elementary.inc.hpp bit for bit.
#ifndef ZRT_ELEMENTARY
#define ZRT_ELEMENTARY

#include "arithmetic.glsl"

real larger(float a, float b) { return a > b ? a : b; }
real smaller(float a, float b) { return a < b ? a : b; }
real magnitude_of(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu); }
real with_sign(float a, float b) {
  return uintBitsToFloat((floatBitsToUint(a) & 0x7fffffffu) | (floatBitsToUint(b) & 0x80000000u));
}

/// x * 2^n in two steps, of which only the second rounds.
real scale_pow2(float x, int n) {
  const int first = n >> 1, second = n - first;
  real scaled = x * uintBitsToFloat(uint(first + 127) << 23);
  return scaled * uintBitsToFloat(uint(second + 127) << 23);
}

real exp_of(float x) {
  real bounded = larger(-104.0, smaller(89.0, x));
  real n = roundEven(bounded * 1.442695);
  real r = zrt_fma(n, -0.6931472, bounded);
  r = zrt_fma(n, 1.9046542e-09, r);
  real q = 0.0013823268;
  q = zrt_fma(q, r, 0.008368831);
  q = zrt_fma(q, r, 0.04166824);
  q = zrt_fma(q, r, 0.1666652);
  q = zrt_fma(q, r, 0.49999994);
  real above_one = zrt_fma(r * r, q, r);
  return scale_pow2(above_one + 1.0, int(n));
}

struct SinCos {
  float sine, cosine;
};

/// Bits `at` to `at` + 31 of 2/pi behind the point, where the first 32 are zeros; at is below 128.
uint64_t two_over_pi(uint at) {
  const uint high = at < 32 ? 0u : at < 64 ? 0xa2f9836eu : at < 96 ? 0x4e441529u : 0xfc2757d1u;
  const uint low = at < 32 ? 0xa2f9836eu : at < 64 ? 0x4e441529u : at < 96 ? 0xfc2757d1u : 0xf534ddc0u;
  return (uint64_t(high) << 32 | low) >> (32 - at % 32) & 0xfffffffful;
}

struct Reduced {
  float rest, quarter;
};

/// float(double(rest) * 3.4061215800865545e-19), the constant being pi / 2^63, in integers: a device need have no f64.
/// |rest| is at most 2^61.
real quarter_turns_of(int64_t rest) {
  if (rest == 0l) return 0.0;
  const uint64_t whole = uint64_t(rest < 0l ? -rest : rest);
  const uint top = uint(whole >> 32);
  const int zeros = top != 0u ? 31 - findMSB(top) : 63 - findMSB(uint(whole));
  const uint64_t shifted = whole << zeros, below = shifted & 0x7fful;
  // 53 bits, to the nearest and then to even, as all roundings here.
  uint64_t number = shifted >> 11;
  number += below > 0x400ul || (below == 0x400ul && (number & 1ul) != 0ul) ? 1ul : 0ul;
  const uint64_t a1 = number >> 32, a0 = number & 0xfffffffful, b1 = 0x1921fbul, b0 = 0x54442d18ul;
  const uint64_t low = a0 * b0, mid = a0 * b1 + (low >> 32), other = a1 * b0 + (mid & 0xfffffffful);
  const uint64_t lower = other << 32 | low & 0xfffffffful, upper = a1 * b1 + (mid >> 32) + (other >> 32);
  const int cut = findMSB(uint(upper >> 32)) + 32 + 12;
  uint64_t product = upper << (64 - cut) | lower >> cut;
  const uint64_t lost = lower & ((1ul << cut) - 1ul), half_of = 1ul << (cut - 1);
  product += lost > half_of || (lost == half_of && (product & 1ul) != 0ul) ? 1ul : 0ul;
  const uint64_t last = product & 0x1ffffffful;
  uint mantissa = uint(product >> 29);
  mantissa += last > 0x10000000ul || (last == 0x10000000ul && (mantissa & 1u) != 0u) ? 1u : 0u;
  const int exponent = 29 + cut - 114 + 11 - zeros;
  const uint magnitude = uint(exponent + 150 << 23) + (mantissa - 0x800000u);
  return uintBitsToFloat(magnitude | (rest < 0l ? 0x80000000u : 0u));
}

/// An angle from 2^20 to 2^57 by the bits of 2/pi in integers, as the library has it.
Reduced reduce_large(float x) {
  const uint bits = floatBitsToUint(x);
  const uint64_t mantissa = (bits & 0x7fffffu) | 0x800000u;
  const uint skip = (bits >> 23 & 255u) - 120u;
  const uint64_t high = two_over_pi(skip) << 32 | two_over_pi(skip + 32);
  const uint64_t turns = mantissa * high + (mantissa * two_over_pi(skip + 64) >> 32);
  const uint64_t quarter = (turns + (1ul << 61)) >> 62;
  const int64_t rest = int64_t(turns - (quarter << 62));
  return Reduced(quarter_turns_of(rest), float(uint(quarter & 3ul)));
}

SinCos sincos_of(float x) {
  real n = roundEven(x * 0.63661975);
  real r = zrt_fma(n, -1.5707964, x);
  r = zrt_fma(n, 4.371139e-08, r);
  r = zrt_fma(n, 1.7151245e-15, r);
  if (magnitude_of(x) >= 1048576.0) {
    const Reduced large = reduce_large(x);
    r = large.rest;
    n = large.quarter;
  }
  const int quarter = int(n);
  real z = r * r;
  real p = -0.00019518375;
  p = zrt_fma(p, z, 0.00833219);
  p = zrt_fma(p, z, -0.16666655);
  real sine = zrt_fma(r * z, p, r);
  real c = 2.4432726e-05;
  c = zrt_fma(c, z, -0.0013887312);
  c = zrt_fma(c, z, 0.041666646);
  c = zrt_fma(c, z, -0.5);
  real cosine = zrt_fma(c, z, 1.0);
  const bool odd = (quarter & 1) != 0;
  SinCos y;
  y.sine = uintBitsToFloat(floatBitsToUint(odd ? cosine : sine) ^ uint(quarter & 2) << 30);
  y.cosine = uintBitsToFloat(floatBitsToUint(odd ? sine : cosine) ^ uint((quarter + 1) & 2) << 30);
  y.sine = x == 0.0 ? x : y.sine;
  return y;
}

real tanh_of(float x) {
  real a = magnitude_of(x);
  real z = x * x;
  real p = -0.005528047;
  p = zrt_fma(p, z, 0.020482777);
  p = zrt_fma(p, z, -0.0536928);
  p = zrt_fma(p, z, 0.13330898);
  p = zrt_fma(p, z, -0.33333263);
  real near_zero = zrt_fma(x * z, p, x);
  real far = 1.0 - zrt_div(2.0, exp_of(a + a) + 1.0);
  return with_sign(a < 0.625 ? near_zero : far, x);
}

real erf_of(float x) {
  real z = x * x;
  real p = 8.301195e-05;
  p = zrt_fma(p, z, -0.00081251346);
  p = zrt_fma(p, z, 0.005199314);
  p = zrt_fma(p, z, -0.026858592);
  p = zrt_fma(p, z, 0.11283677);
  p = zrt_fma(p, z, -0.37612632);
  p = zrt_fma(p, z, 0.12837917);
  real near_zero = zrt_fma(x, p, x);
  real t = smaller(3.95, magnitude_of(x)) - 2.0;
  real q = -0.00019548343;
  q = zrt_fma(q, t, 0.00069189654);
  q = zrt_fma(q, t, -0.0035533432);
  q = zrt_fma(q, t, 0.016492603);
  q = zrt_fma(q, t, 0.92375815);
  q = zrt_fma(q, t, 4.4181604);
  q = zrt_fma(q, t, 5.364941);
  real far = 1.0 - exp_of(-q);
  return with_sign(magnitude_of(x) < 0.925 ? near_zero : far, x);
}

real log_of(float x) {
  const bool tiny = x < 1.1754944e-38;
  real lifted = tiny ? x * 8388608.0 : x;
  const int bits = int(floatBitsToUint(lifted));
  const int k = (bits - 0x3f3504f3) >> 23;
  real f = uintBitsToFloat(uint(bits) - (uint(k) << 23)) - 1.0;
  real exponent = float(tiny ? k - 23 : k);
  real q = -0.07638814;
  q = zrt_fma(q, f, 0.12764946);
  q = zrt_fma(q, f, -0.13160108);
  q = zrt_fma(q, f, 0.14201258);
  q = zrt_fma(q, f, -0.16623318);
  q = zrt_fma(q, f, 0.2000125);
  q = zrt_fma(q, f, -0.25000823);
  q = zrt_fma(q, f, 0.3333333);
  real rest = zrt_fma(exponent, -1.9046542e-09, (f * f) * zrt_fma(f, q, -0.5));
  real result = zrt_fma(exponent, 0.6931472, f + rest);
  result = x == infinity() ? x : result;
  result = x == 0.0 ? -infinity() : result;
  return 0.0 <= x ? result : uintBitsToFloat(0x7fc00000u);
}
real log1p_of(float x) {
  real u = x + 1.0;
  real lost = zrt_div(x - (u - 1.0), u);
  return log_of(u) + (u < infinity() ? lost : 0.0);
}

real sigmoid_of(float x) {
  real e = exp_of(-magnitude_of(x));
  return zrt_div(x < 0.0 ? e : 1.0, e + 1.0);
}
real softplus_of(float x) { return larger(0.0, x) + log1p_of(exp_of(-magnitude_of(x))); }
real silu_of(float x) {
  real e = exp_of(-magnitude_of(x));
  return zrt_div(x * (x < 0.0 ? e : 1.0), e + 1.0);
}
real gelu_of(float x) {
  real inner = erf_of(x * 0.70710677);
  return (x * 0.5) * (inner + 1.0);
}
real gelu_tanh_of(float x) {
  real slope = zrt_fma(x * x, 0.035677407, 0.7978846);
  return (x * 0.5) * (tanh_of(x * slope) + 1.0);
}
real relu2_of(float x) {
  real positive = larger(0.0, x);
  return positive * positive;
}
real swiglu_oai_gate_of(float x) {
  real g = smaller(7.0, x);
  real s = g * 1.702;
  real e = exp_of(-magnitude_of(s));
  return zrt_div(g * (s < 0.0 ? e : 1.0), e + 1.0);
}
real swiglu_oai_up_of(float x) { return larger(-7.0, smaller(7.0, x)) + 1.0; }

#endif
