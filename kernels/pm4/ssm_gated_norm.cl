// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/ssm_gated_norm.cl: the norm of a mixer's output, gated before or after.
//
// Grid: one workgroup for each run of `dim`. weight [dim], or [weight_rows][dim], one for each run of a row, which then
// lies as a matrix of f32 does. Canonical: dot16 over the run, as rms_norm.cl has it; y may be x.
#include "dot16.h"
#include "elementary.h"
#include "pieces.h"

#define LANES 256

ZRT_INLINE float normed_of(float x, float z, uint gate_first) { return gate_first != 0 ? silu_of(z) * x : x; }

ZRT_KERNEL(LANES)
ssm_gated_norm(global const float* x, global const float* z, global const float* weight, global float* y, uint dim,
               float eps, uint gate_first, uint weight_rows) {
  const ulong run = (ulong)group_x() * dim;
  x += run, z += run, y += run;
  float chain = 0.0f;
#pragma unroll 2
  for (uint i = lane_id() % 16; i < dim; i += 16) {
    const float value = normed_of(x[i], z[i], gate_first);
    chain = __builtin_fmaf(value, value, chain);
  }
  const float scale = 1.0f / __builtin_sqrtf(tree16(chain) / (float)dim + eps);
  // The other waves still read what this one is about to write, where y is x.
  let_read();
  for (uint i = lane_id(); i < dim; i += LANES) {
    const float of_run = weight[weight_rows == 0 ? i : real_place(group_x() % weight_rows, i, dim)];
    const float value = normed_of(x[i], z[i], gate_first) * scale * (of_run + 0.0f);
    y[i] = gate_first != 0 ? value : silu_of(z[i]) * value;
  }
}
