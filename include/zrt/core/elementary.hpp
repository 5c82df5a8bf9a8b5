// SPDX-License-Identifier: Apache-2.0
// zrt/core/elementary.hpp: exp, log, sin, cos, tanh, erf, pow and activations of f32, without libm.
#pragma once

#include <zrt/core/elementary_angle.hpp>
#include <zrt/core/elementary_ops.hpp>

#include <cstdint>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::math {

#include <zrt/core/elementary.inc.hpp>

}  // namespace zrt::inline ZRT_ABI::math
ZRT_FP_END
