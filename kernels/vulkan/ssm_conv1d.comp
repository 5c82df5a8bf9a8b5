#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/ssm_conv1d.comp: causal depthwise convolution over the tokens of a slot.
//
// Grid: (ceil(channels / 64), tokens), as recurrent.glsl says; a lane takes a channel. weight [channels][taps] lies as a
// matrix of f32 does. The state is the last taps - 1 rows of x. Canonical: a chain over the taps from the bias, which
// may be absent, or from +0. `act` is Activation's number: none or silu.
//
// A lane takes taps + 3 turns of loops for each token of its slot: of four taps at most 9,300 tokens in a step.
#include "elementary.glsl"
#include "pieces.glsl"
#include "recurrent.glsl"

ZRT_LANES(64);
ZRT_ARGUMENTS {
  uint64_t x, weight, bias, slots, state, y;
  uint tokens, channels, taps, part, block, act;
};

/// Input `at` of a channel: those of the state, then those of the step.
real input_of(Arguments args, Rows run, uint channel, uint at) {
  const uint kept = args.taps - 1;
  if (at < kept) return real_at(run.state, uint64_t(at) * args.channels + channel);
  return real_at(args.x, uint64_t(run.first + at - kept) * args.channels + channel);
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const Rows run = run_of(args.slots, args.state, args.tokens, args.part, args.block);
  const uint channel = group_x() * 64 + lane_id(), rows = run.end - run.first;
  if (channel >= args.channels || rows == 0) return;
  for (uint t = 0; t < rows; ++t) {
    real sum = 0.0;
    if (args.bias != 0) sum = real_at(args.bias, channel);
    for (uint k = 0; k < args.taps; ++k)
      sum = zrt_fma(real_at(args.weight, real_place(channel, k, args.taps)), input_of(args, run, channel, t + k), sum);
    put_real(args.y, uint64_t(run.first + t) * args.channels + channel, args.act == 1 ? silu_of(sum) : sum);
  }
  for (uint k = 0; k + 1 < args.taps; ++k)
    put_real(run.state, uint64_t(k) * args.channels + channel, input_of(args, run, channel, rows + k));
}
