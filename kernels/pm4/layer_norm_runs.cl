// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/layer_norm_runs.cl: mean and variance of each run taken out, then scale and shift.
//
// Grid: one workgroup for each run of `dim`. Canonical: dot16 over the run, as rms_norm.cl has it; y may be x.
#include "dot16.h"

#define LANES 256

ZRT_KERNEL(LANES)
layer_norm_runs(global const float* x, global const float* weight, global const float* bias, global float* y, uint dim,
                float eps) {
  x += (ulong)group_x() * dim;
  y += (ulong)group_x() * dim;
  float chain = 0.0f;
#pragma unroll 4
  for (uint i = lane_id() % 16; i < dim; i += 16) chain += x[i];
  const float mean = tree16(chain) / (float)dim;
  chain = 0.0f;
#pragma unroll 4
  for (uint i = lane_id() % 16; i < dim; i += 16) {
    const float centred = x[i] - mean;
    chain += centred * centred;
  }
  const float scale = 1.0f / __builtin_sqrtf(tree16(chain) / (float)dim + eps);
  // The other waves still read what this one is about to write, where y is x.
  let_read();
  for (uint i = lane_id(); i < dim; i += LANES) {
    const float scaled = (x[i] - mean) * scale * weight[i];
    y[i] = bias == 0 ? scaled : scaled + bias[i];
  }
}
