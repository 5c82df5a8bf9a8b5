// SPDX-License-Identifier: Apache-2.0
// zrt/core/elementary.hpp: exp, log, sin, cos, tanh, erf, pow and activations of f32, without libm.
#pragma once

#include <zrt/core/elementary_angle.hpp>
#include <zrt/core/elementary_ops.hpp>

#include <cstdint>

// The largest error seen against the f64 functions of a C library over every 29th f32 of all
// exponents, denormal results included, in units of the last place:
//
//   exp 1.01, log 0.87, log1p 1.30 (x >= 0), sin 1.87 and cos 1.53 (every finite angle), tanh 1.31,
//   erf 1.75, pow 0.95 (20 million pairs), sigmoid 2.41, silu 3.08 (x >= -87), softplus 1.97.
//
// gelu and gelu_tanh cancel for negative x: they stay within 2.5 * 2^-24 * |x|. exp(0) is exactly 1
// and exp(-inf) is 0; -0 keeps its sign where the function is odd; NaN gives NaN, pow(x, 0) and
// pow(1, y) apart; silu, gelu and gelu_tanh of -infinity are NaN.

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::math {

#include <zrt/core/elementary.inc.hpp>

}  // namespace zrt::inline ZRT_ABI::math
ZRT_FP_END
