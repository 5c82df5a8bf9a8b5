// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/residual_add.cl: x + scale * branch, element by element.
//
// Grid: ceil(count / 256). Canonical: one fused step. An operand may be the output.
#include "place.h"

ZRT_KERNEL(256)
residual_add(global const float* x, global const float* branch, global float* y, uint count, float scale) {
  const uint i = group_x() * 256 + lane_id();
  if (i < count) y[i] = __builtin_fmaf(scale, branch[i], x[i]);
}
