// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_q6_k.cl: a Q6_K matrix times rounded activations, for generated tokens.
//
// The matrix is upload/q6_k.hpp's: low [rows][blocks][128], top [rows][blocks][64],
// scales [ceil(rows / 8)][blocks][8][16] and d [ceil(rows / 8)][blocks][8]. Activations are as in matvec_q4_k.cl.
//
// Grid: (ceil(rows / 8), tokens). Each weight byte is read once. Canonical: the order `blocks`. The 32 that each value is
// too large is taken off once for each run: exact in integers.
#include "blocks_k.h"

typedef struct {
  global const char *low, *top;
  global const uint4* scales;
  global const half* d;
  global const char* xq;
  global const float* xd;
  uint blocks, count;
} Matrix;

typedef struct {
  local int* sums;
  local float2* terms;
} Shared;

/// Goes on with the chains over `width` blocks of each row, from block `at`.
ZRT_INLINE float take_blocks(const uint width, Matrix m, uint at, Shared shared, float chain) {
  const uint lane = lane_id(), k = lane % 8, block = lane / 8 % width;
  global const char* x = m.xq + (at + block) * 256 + k / 4 * 128 + k / 2 % 2 * 32 + k % 2 * 16;
  const uint4 x_low = *(global const uint4*)x, x_high = *(global const uint4*)(x + 64);
  const uint slot = lane % (ROWS * width);
  const uint4 scales = m.scales[at * ROWS + slot];
  const half d = m.d[at * ROWS + slot];
  const float x_scale = m.xd[at + slot / ROWS];
  uint4 low[ROWS];
  uint2 top[ROWS];
#pragma unroll
  for (uint i = 0; i < ROWS * width / 4; ++i) {
    const uint row = row_within(i * 4 / width + lane / 8 / width, m.count);
    low[i] = *(global const uint4*)(m.low + ((row * m.blocks + at) * 128 + (block * 128 + k * 16)));
    top[i] = *(global const uint2*)(m.top + ((row * m.blocks + at) * 64 + (block * 64 + k * 8)));
  }
  const int low_excess = sum_of(x_low) * -32, high_excess = sum_of(x_high) * -32;
  const uint half_mask = 0x0f0f0f0f, pair_mask = 0x30303030;
#pragma unroll
  for (uint i = 0; i < ROWS * width / 4; ++i) {
    const uint4 low_top = {top[i].x << 4, top[i].x << 2, top[i].x, top[i].x >> 2};
    const uint4 high_top = {top[i].y << 4, top[i].y << 2, top[i].y, top[i].y >> 2};
    const int2 sum = {dot_of((low[i] & half_mask) | (low_top & pair_mask), x_low, low_excess),
                      dot_of((low[i] >> 4 & half_mask) | (high_top & pair_mask), x_high, high_excess)};
    *(local int2*)(shared.sums + slot_of(width, i, lane / 8) * PITCH + k * 2) = sum;
  }
  meet();
  if (lane < ROWS * width) {
    int sum = 0;
#pragma unroll
    for (uint lanes = 0; lanes < 8; lanes += 2) {
      // Four lanes have half of the block: lane i of them run i in the low halves and run i + 4 in the high ones.
      const int4 runs = *(local const int4*)(shared.sums + lane * PITCH + lanes * 2);
      const uint low_scales = scales[lanes / 4 * 2], high_scales = scales[lanes / 4 * 2 + 1];
      sum += product24(signed_byte(low_scales, lanes % 4), runs.x);
      sum += product24(signed_byte(high_scales, lanes % 4), runs.y);
      sum += product24(signed_byte(low_scales, lanes % 4 + 1), runs.z);
      sum += product24(signed_byte(high_scales, lanes % 4 + 1), runs.w);
    }
    const float2 term = {(float)d * x_scale, (float)sum};
    shared.terms[lane] = term;
  }
  meet();
#pragma unroll
  for (uint b = 0; b < width; ++b) {
    const float2 term = shared.terms[b * ROWS + lane % ROWS];
    chain = __builtin_fmaf(term.x, term.y, chain);
  }
  meet();
  return chain;
}

ZRT_KERNEL(32)
matvec_q6_k(global const char* low, global const char* top, global const uint4* scales, global const half* d,
            global const char* xq, global const float* xd, global const float* bias, global float* y, uint rows,
            uint cols) {
  local int sums[SLOTS * PITCH] __attribute__((aligned(16)));
  local float2 terms[SLOTS];
  const uint lane = lane_id(), first = group_x() * ROWS, blocks = cols / 256;
  const uint count = rows - first < ROWS ? rows - first : ROWS;
  const ulong before = (ulong)first * blocks;
  const Matrix m = {low + before * 128, top + before * 64, scales + before, d + before, xq + (ulong)group_y() * cols,
                    xd + (ulong)group_y() * blocks, blocks, count};
  const Shared shared = {sums, terms};
  float chain = 0.0f;
  uint at = 0;
  for (; at + 4 <= blocks; at += 4) chain = take_blocks(4, m, at, shared, chain);
  if (at + 2 <= blocks) chain = take_blocks(2, m, at, shared, chain), at += 2;
  if (at < blocks) chain = take_blocks(1, m, at, shared, chain);
  if (lane < count) y[(ulong)group_y() * rows + first + lane] = bias == 0 ? chain : chain + bias[first + lane];
}
