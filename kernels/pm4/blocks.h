// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/blocks.h: the order `blocks` of a sum: one chain over the blocks of a row, in one lane.
#pragma once

#include "dot4.h"
#include "place.h"

// A wave takes so many rows, and so many columns of each at a time, in blocks of 32.
#define ROWS 8
#define STEP 1024
#define BLOCKS 32
// Rows four banks apart: eight lanes that read one column of eight rows meet no conflict.
#define PITCH (BLOCKS + 4)

/// Goes on with the chain of row `lane % ROWS` over the sums and scales of a step.
///
/// Blocks behind the row have sum and scale 0: they change no chain, because one that starts at +0 is never -0.
ZRT_INLINE float chain_over(local const float* sums, local const float* scales, float chain) {
  sums += lane_id() % ROWS * PITCH;
  scales += lane_id() % ROWS * PITCH;
#pragma unroll
  for (uint b = 0; b < BLOCKS; b += 4) {
    const float4 sum = *(local const float4*)(sums + b), scale = *(local const float4*)(scales + b);
    chain = __builtin_fmaf(scale.x, sum.x, chain);
    chain = __builtin_fmaf(scale.y, sum.y, chain);
    chain = __builtin_fmaf(scale.z, sum.z, chain);
    chain = __builtin_fmaf(scale.w, sum.w, chain);
  }
  return chain;
}
