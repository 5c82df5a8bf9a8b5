// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/expert_sum.cl: the weighted sum of a token's experts, and the expert that every token takes.
#include "dot16.h"
#include "elementary.h"
#include "experts.h"

// branch [tokens][used][cols]. Grid: (ceil(cols / 256), tokens). Canonical: a chain in the order of the ids from sum,
// or from +0. An id that does not count adds nothing, and sets *fault. scale [experts] and sum may be null; y may be sum.
ZRT_KERNEL(256)
expert_sum(global const float* branch, global const int* ids, global const float* weights, global const float* scale,
           global const float* sum, global float* y, global uint* fault, uint cols, uint used, uint experts) {
  const uint i = group_x() * 256 + lane_id();
  const ulong pair = (ulong)group_y() * used, at = (ulong)group_y() * cols + i;
  constant const int* chosen = (constant const int*)(ulong)(ids + pair);
  if (i >= cols) return;
  float total = sum == 0 ? 0.0f : sum[at];
  int last = -1;
  for (uint j = 0; j < used; ++j) {
    const int id = chosen[j];
    if (id <= last || (uint)id >= experts) {
      if (i == 0) *fault = 1;
      continue;
    }
    last = id;
    const float weight = scale == 0 ? weights[pair + j] : weights[pair + j] * scale[id];
    total = __builtin_fmaf(weight, branch[(pair + j) * cols + i], total);
  }
  y[at] = total;
}

#define LANES 256

// x [tokens][dim], branch, sum, y [tokens][cols]. Grid: tokens. Canonical: dot16 of gate and x. y may be branch or sum.
ZRT_KERNEL(LANES)
shared_expert(global const float* x, global const float* branch, global const float* sum, global const float* gate,
              global float* y, uint dim, uint cols) {
  x += (ulong)group_x() * dim;
  float chain = 0.0f;
#pragma unroll 4
  for (uint i = lane_id() % 16; i < dim; i += 16) chain = __builtin_fmaf(gate[i], x[i], chain);
  const float opened = sigmoid_of(tree16(chain));
  const ulong row = (ulong)group_x() * cols;
  for (uint i = lane_id(); i < cols; i += LANES) y[row + i] = __builtin_fmaf(opened, branch[row + i], sum[row + i]);
}
