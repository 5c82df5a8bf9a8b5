// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/ssm_scan.cl: Mamba's selective scan, of its first and second form.
//
// Grid: (ceil(heads * head_dim / 64), tokens), as recurrent.h says; a lane takes a channel. x has `x_cols` columns, bc
// `bc_cols`: where B and C stand behind the channels, bc is x and bc_first their number. With by_channel, a
// [channels][states] lies as a matrix of f32 does. dt_bias may be null. Canonical: ssm_scan's orders.
#include "elementary.h"
#include "pieces.h"
#include "recurrent.h"

ZRT_KERNEL(64)
ssm_scan(global const float* x, global const float* dt, global const float* bc, global const float* a,
         global const float* d, global const float* dt_bias, global const uint* slots, global float* state,
         global float* y, uint tokens, uint heads, uint head_dim, uint groups, uint states, uint by_channel, uint x_cols,
         uint bc_cols, uint bc_first, uint part, uint block) {
  const Run run = run_of(slots, state, tokens, part, block);
  const uint channels = heads * head_dim, channel = group_x() * 64 + lane_id();
  if (channel >= channels) return;
  const uint head = channel / head_dim, column = channel - head * head_dim;
  const uint table = by_channel != 0 ? channel : head, tables = by_channel != 0 ? channels : heads;
  const uint width = tile_width(column, head_dim);
  global float* s = run.state + ((ulong)head * head_dim * states + tile_base(column, states));
  const float skip = d[table], rate = by_channel != 0 ? 0.0f : a[table];
  for (uint row = run.first; row < run.end; ++row) {
    global const float* b = bc + ((ulong)row * bc_cols + bc_first + head / (heads / groups) * states);
    global const float* c = b + groups * states;
    const float raw = dt[(ulong)row * tables + table];
    const float step = softplus_of(dt_bias == 0 ? raw : raw + dt_bias[table]);
    const float value = x[(ulong)row * x_cols + channel], dx = value * step;
    const float decay = exp_of(step * rate);
    float sum = 0.0f;
    for (uint n = 0; n < states; ++n) {
      const float keeps = by_channel != 0 ? exp_of(step * a[real_place(table, n, states)]) : decay;
      const float next = __builtin_fmaf(s[n * width], keeps, b[n] * dx);
      s[n * width] = next;
      sum = __builtin_fmaf(next, c[n], sum);
    }
    y[(ulong)row * channels + channel] = __builtin_fmaf(skip, value, sum);
  }
}
