// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/arithmetic.glsl: multiply-add, division and square root that round once, whatever the device offers.
#ifndef ZRT_ARITHMETIC
#define ZRT_ARITHMETIC

#include "memory.glsl"

/// What the numerics probe of a device chose. How to fuse: 0 by the device's fma, 1 reserved for VK_KHR_shader_fma, 2 in
/// f64; how to divide and take roots: 0 by the device, 1 in f64. Only functions named _in_f64 have floats of 64 bits: a
/// device without such floats gets modules where these functions are empty.
layout(constant_id = 0) const uint kFusedBy = 0;
layout(constant_id = 1) const uint kDividedBy = 0;

/// The product is exact in f64. Their sum is rounded to odd, so that it tells on which side of a tie it was, and then to
/// f32: one rounding in all. Infinities and NaNs stay what the sum makes of them.
real fused_in_f64(float a, float b, float c) {
  precise double product = double(a) * double(b);
  precise double addend = double(c);
  precise double sum = product + addend;
  precise double of_addend = sum - product;
  precise double lost = (product - (sum - of_addend)) + (addend - of_addend);
  const uint64_t bits = doubleBitsToUint64(sum);
  const bool is_finite = (bits & 0x7ff0000000000000ul) != 0x7ff0000000000000ul;
  const bool to_odd = is_finite && lost != 0.0lf && (bits & 1ul) == 0ul;
  const uint64_t step = (lost > 0.0lf) == (sum > 0.0lf) ? 1ul : 0xfffffffffffffffful;
  return float(uint64BitsToDouble(to_odd ? bits + step : bits));
}

real zrt_fma(float a, float b, float c) { return kFusedBy == 2 ? fused_in_f64(a, b, c) : fma(a, b, c); }
real4 zrt_fma(vec4 a, vec4 b, vec4 c) {
  return vec4(zrt_fma(a.x, b.x, c.x), zrt_fma(a.y, b.y, c.y), zrt_fma(a.z, b.z, c.z), zrt_fma(a.w, b.w, c.w));
}

real divided_in_f64(float a, float b) {
  precise double quotient = double(a) / double(b);
  return float(quotient);
}
real root_in_f64(float x) {
  precise double root = sqrt(double(x));
  return float(root);
}
real zrt_div(float a, float b) { return kDividedBy == 0 ? a / b : divided_in_f64(a, b); }
real zrt_sqrt(float x) { return kDividedBy == 0 ? sqrt(x) : root_in_f64(x); }

bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
real infinity() { return uintBitsToFloat(0x7f800000u); }

#endif
