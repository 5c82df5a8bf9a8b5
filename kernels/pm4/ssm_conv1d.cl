// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/ssm_conv1d.cl: causal depthwise convolution over the tokens of a slot.
//
// Grid: (ceil(channels / 64), tokens), as recurrent.h says; a lane takes a channel. weight [channels][taps] lies as a
// matrix of f32 does. The state is the last taps - 1 rows of x. Canonical: a chain over the taps from the bias, which
// may be null, or from +0. `act` is Activation's number: none or silu.
#include "elementary.h"
#include "pieces.h"
#include "recurrent.h"

ZRT_INLINE float input_of(global const float* tail, global const float* x, uint at, uint taps, uint channels) {
  return at < taps - 1 ? tail[(ulong)at * channels] : x[(ulong)(at - (taps - 1)) * channels];
}

ZRT_KERNEL(64)
ssm_conv1d(global const float* x, global const float* weight, global const float* bias, global const uint* slots,
           global float* state, global float* y, uint tokens, uint channels, uint taps, uint part, uint block,
           uint act) {
  const Run run = run_of(slots, state, tokens, part, block);
  const uint channel = group_x() * 64 + lane_id(), rows = run.end - run.first;
  if (channel >= channels) return;
  global float* tail = run.state + channel;
  x += (ulong)run.first * channels + channel;
  y += (ulong)run.first * channels + channel;
  for (uint t = 0; t < rows; ++t) {
    float sum = bias == 0 ? 0.0f : bias[channel];
    for (uint k = 0; k < taps; ++k)
      sum = __builtin_fmaf(weight[real_place(channel, k, taps)], input_of(tail, x, t + k, taps, channels), sum);
    y[(ulong)t * channels] = act == 1 ? silu_of(sum) : sum;
  }
  if (rows == 0) return;
  for (uint k = 0; k + 1 < taps; ++k) tail[(ulong)k * channels] = input_of(tail, x, rows + k, taps, channels);
}
