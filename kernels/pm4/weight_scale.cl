// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/weight_scale.cl: x * weight[0], element by element.
//
// Grid: ceil(count / 256). Canonical; y may be x.
#include "place.h"

ZRT_KERNEL(256)
weight_scale(global const float* x, global const float* weight, global float* y, uint count) {
  const uint i = group_x() * 256 + lane_id();
  if (i < count) y[i] = x[i] * weight[0];
}
