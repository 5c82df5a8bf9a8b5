// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/several_tokens.glsl: a row of a block type times up to TOKENS tokens, whose chains and sums are in
// shared memory between steps, a place for each of LANES lanes: each weight is loaded once for all of them.
//
// For each TOKENS tokens a lane takes cols / 32 * (tokens + 2) turns of loops, of K types cols / 256 * (5 * tokens + 12).
#ifndef ZRT_SEVERAL_TOKENS
#define ZRT_SEVERAL_TOKENS

#include "blocks_product.glsl"

shared float zrt_kept_chains[TOKENS * LANES];
#if STEPS > 1
shared int zrt_kept_scaled[TOKENS * LANES], zrt_kept_offsets[TOKENS * LANES];
#endif

uint kept_place(uint t) { return t * LANES + lane_id(); }

#if STEPS > 1
void take_step(Step s, Activations x, uint first, uint count, uint b, bool begins) {
  for (uint t = 0; t < count; ++t) {
    const uint place = kept_place(t);
    Sums sums = Sums(0, 0);
    if (!begins) sums = Sums(zrt_kept_scaled[place], zrt_kept_offsets[place]);
    add(sums, s, block_of(x, first + t, b));
    zrt_kept_scaled[place] = sums.scaled;
    zrt_kept_offsets[place] = sums.offset;
  }
}
#endif

void take_block(Parts m, uint row, Activations x, uint first, uint count, uint b) {
  const uint blocks = x.cols / BLOCK;
  const Head h = head_of(m, row, b, blocks);
#if STEPS == 1
  const Step s = step_of(m, h, row, b, 0, blocks);
#else
  for (uint part = 0; part < STEPS; ++part)
    take_step(step_of(m, h, row, b, part, blocks), x, first, count, b, part == 0);
#endif
  for (uint t = 0; t < count; ++t) {
    const uint place = kept_place(t);
#if STEPS == 1
    Sums sums = Sums(0, 0);
    add(sums, s, block_of(x, first + t, b));
#else
    const Sums sums = Sums(zrt_kept_scaled[place], zrt_kept_offsets[place]);
#endif
    zrt_kept_chains[place] = finished(h, sums, scale_of(x, first + t, b), zrt_kept_chains[place]);
  }
}

/// The products of a row with `count` tokens from `first` on, left in shared memory at kept_place.
void take_tokens(Parts m, uint row, Activations x, uint first, uint count) {
  for (uint t = 0; t < count; ++t) zrt_kept_chains[kept_place(t)] = 0.0;
  for (uint b = 0; b < x.cols / BLOCK; ++b) take_block(m, row, x, first, count, b);
}

#endif
