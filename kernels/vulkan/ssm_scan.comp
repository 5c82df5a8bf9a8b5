#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/ssm_scan.comp: Mamba's selective scan, of its first and second form.
//
// Grid: (ceil(heads * head_dim / 64), tokens), as recurrent.glsl says; a lane takes a channel. x has `x_cols` columns, bc
// `bc_cols`: where B and C stand behind the channels, bc is x and bc_first their number. With by_channel, a
// [channels][states] lies as a matrix of f32 does. dt_bias may be absent. Canonical: ssm_scan's orders.
//
// A lane takes states / 4 + 4 turns of loops for each token of its slot: of 128 states at most 1800 tokens in a step.
#include "elementary.glsl"
#include "pieces.glsl"
#include "recurrent.glsl"

ZRT_LANES(64);
ZRT_ARGUMENTS {
  uint64_t x, dt, bc, a, d, dt_bias, slots, state, y;
  uint tokens, heads, head_dim, groups, states, by_channel, x_cols, bc_cols, bc_first, part, block;
};

/// A lane's channel: the addresses of its states and of what is read for each token.
struct Channel {
  uint64_t s, b, c;
  uint width;  // from one state to the next
  uint table;  // its row of the tables of rates
  float step, dx, decay;
};

/// State `n` goes on by a token. Returns the chain of outputs.
real next_of(Arguments args, Channel of, uint n, float sum) {
  real keeps = of.decay;
  if (args.by_channel != 0) {
    real exponent = of.step * real_at(args.a, real_place(of.table, n, args.states));
    keeps = exp_of(exponent);
  }
  real input_n = real_at(of.b, n) * of.dx;
  real next = zrt_fma(real_at(of.s, n * of.width), keeps, input_n);
  put_real(of.s, n * of.width, next);
  return zrt_fma(next, real_at(of.c, n), sum);
}

real sum_of_states(Arguments args, Channel of) {
  real sum = 0.0;
  uint n = 0;
  for (; n + 4 <= args.states; n += 4)
    [[unroll]] for (uint i = 0; i < 4; ++i) sum = next_of(args, of, n + i, sum);
  for (; n < args.states; ++n) sum = next_of(args, of, n, sum);
  return sum;
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const Rows run = run_of(args.slots, args.state, args.tokens, args.part, args.block);
  const uint channels = args.heads * args.head_dim, channel = group_x() * 64 + lane_id();
  if (channel >= channels) return;
  const uint head = channel / args.head_dim, column = channel - head * args.head_dim;
  const bool by_channel = args.by_channel != 0;
  const uint tables = by_channel ? channels : args.heads;
  Channel of;
  of.table = by_channel ? channel : head;
  of.width = tile_width(column, args.head_dim);
  of.s = run.state + (uint64_t(head) * args.head_dim * args.states + tile_base(column, args.states)) * 4;
  real skip = real_at(args.d, of.table);
  real rate = 0.0;
  if (!by_channel) rate = real_at(args.a, of.table);
  for (uint row = run.first; row < run.end; ++row) {
    const uint group = head / (args.heads / args.groups);
    of.b = args.bc + (uint64_t(row) * args.bc_cols + args.bc_first + group * args.states) * 4;
    of.c = of.b + args.groups * args.states * 4;
    real raw = real_at(args.dt, uint64_t(row) * tables + of.table);
    if (args.dt_bias != 0) raw = raw + real_at(args.dt_bias, of.table);
    real step = softplus_of(raw);
    real value = real_at(args.x, uint64_t(row) * args.x_cols + channel);
    real dx = value * step;
    real exponent = step * rate;
    of.step = step;
    of.dx = dx;
    of.decay = exp_of(exponent);
    put_real(args.y, uint64_t(row) * channels + channel, zrt_fma(skip, value, sum_of_states(args, of)));
  }
}
