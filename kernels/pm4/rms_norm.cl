// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/rms_norm.cl: root-mean-square normalisation, alone and behind the residual sum that closes a block.
//
// Grid: one workgroup for each run of `dim`. Canonical: dot16 over the run. Each half wave computes all sixteen chains,
// which costs the cache a few more reads and saves a way through local memory; an operand may be the output.
#include "dot16.h"

#define LANES 256

/// 1 / sqrt(mean + eps) from this lane's chain of squares.
ZRT_INLINE float scale_of(float chain, uint dim, float eps) {
  const float mean = tree16(chain) / (float)dim;
  return 1.0f / __builtin_sqrtf(mean + eps);
}
ZRT_INLINE float weighted(float normed, global const float* weight, uint i, float weight_offset) {
  return weight == 0 ? normed : normed * (weight[i] + weight_offset);
}

ZRT_KERNEL(LANES)
rms_norm(global const float* x, global const float* weight, global float* y, uint dim, float eps,
         float weight_offset) {
  x += (ulong)group_x() * dim;
  y += (ulong)group_x() * dim;
  float chain = 0.0f;
#pragma unroll 8
  for (uint i = lane_id() % 16; i < dim; i += 16) chain = __builtin_fmaf(x[i], x[i], chain);
  const float scale = scale_of(chain, dim, eps);
  // The other waves still read what this one is about to write, where y is x.
  let_read();
  for (uint i = lane_id(); i < dim; i += LANES) y[i] = weighted(x[i] * scale, weight, i, weight_offset);
}

ZRT_KERNEL(LANES)
residual_rms_norm(global const float* x, global const float* branch, global const float* weight, global float* sum,
                  global float* y, uint dim, float eps, float weight_offset, float branch_scale) {
  const ulong run = (ulong)group_x() * dim;
  x += run, branch += run, sum += run, y += run;
  float chain = 0.0f;
#pragma unroll 4
  for (uint i = lane_id() % 16; i < dim; i += 16) {
    const float value = __builtin_fmaf(branch_scale, branch[i], x[i]);
    chain = __builtin_fmaf(value, value, chain);
  }
  const float scale = scale_of(chain, dim, eps);
  let_read();
  for (uint i = lane_id(); i < dim; i += LANES) {
    const float value = __builtin_fmaf(branch_scale, branch[i], x[i]);
    sum[i] = value;
    y[i] = weighted(value * scale, weight, i, weight_offset);
  }
}
