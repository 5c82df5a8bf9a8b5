// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_q4_k.cl: a Q4_K matrix times rounded activations, for generated tokens.
//
// The matrix is upload/q4_k.hpp's: q [rows][blocks][128], head [ceil(rows / 8)][blocks][8][16]. Activations are
// round_activation_q8_256's: xq [tokens][cols], xd [tokens][cols / 256].
//
// Grid: (ceil(rows / 8), tokens). Each weight byte is read once. Canonical: the order `blocks`, the offset's step behind
// the scale's.
#include "blocks_k.h"

typedef struct {
  global const char* q;
  global const uint4* head;
  global const char* xq;
  global const float* xd;
  uint blocks, count;
} Matrix;

typedef struct {
  local int *sums, *x_sums;
  local float4* terms;
} Shared;

/// The exact sum of a block's eight runs times their factors, four in each word.
ZRT_INLINE int sum_of_runs(local const int* runs, KFactors f) {
  int sum = 0;
#pragma unroll
  for (uint c = 0; c < 4; ++c) {
    // Two lanes have the halves of runs 2c and 2c + 1.
    const int4 part = *(local const int4*)(runs + c * 4);
    const uint factors = c < 2 ? f.low : f.high;
    sum += product24(unsigned_byte(factors, c % 2 * 2), part.x + part.z);
    sum += product24(unsigned_byte(factors, c % 2 * 2 + 1), part.y + part.w);
  }
  return sum;
}

/// Goes on with the chains over `width` blocks of each row, from block `at`.
ZRT_INLINE float take_blocks(const uint width, Matrix m, uint at, Shared shared, float chain) {
  const uint lane = lane_id(), k = lane % 8, block = lane / 8 % width;
  global const char* x = m.xq + (at + block) * 256 + k / 2 * 64 + k % 2 * 16;
  const uint4 x_low = *(global const uint4*)x, x_high = *(global const uint4*)(x + 32);
  const uint slot_block = lane / ROWS % width;
  const uint4 head = m.head[at * ROWS + lane % (ROWS * width)];
  const float x_scale = m.xd[at + slot_block];
  uint4 halves[ROWS];
#pragma unroll
  for (uint i = 0; i < ROWS * width / 4; ++i) {
    const uint row = row_within(i * 4 / width + lane / 8 / width, m.count);
    halves[i] = *(global const uint4*)(m.q + ((row * m.blocks + at) * 128 + (block * 128 + k * 16)));
  }
  if (lane / 8 < width) {
    const int2 x_sum = {sum_of(x_low), sum_of(x_high)};
    *(local int2*)(shared.x_sums + block * PITCH + k * 2) = x_sum;
  }
  const uint4 mask = 0x0f0f0f0f;
#pragma unroll
  for (uint i = 0; i < ROWS * width / 4; ++i) {
    const int2 sum = {dot_of(halves[i] & mask, x_low, 0), dot_of(halves[i] >> 4 & mask, x_high, 0)};
    *(local int2*)(shared.sums + slot_of(width, i, lane / 8) * PITCH + k * 2) = sum;
  }
  meet();
  if (lane < ROWS * width) {
    const half2 d = __builtin_astype(head.x, half2);
    const int sum = sum_of_runs(shared.sums + lane * PITCH, scales_of(head));
    const int x_sum = sum_of_runs(shared.x_sums + slot_block * PITCH, offsets_of(head));
    const float4 term = {(float)d.x * x_scale, (float)sum, -(float)d.y * x_scale, (float)x_sum};
    shared.terms[lane] = term;
  }
  meet();
#pragma unroll
  for (uint b = 0; b < width; ++b) {
    const float4 term = shared.terms[b * ROWS + lane % ROWS];
    chain = __builtin_fmaf(term.x, term.y, chain);
    chain = __builtin_fmaf(term.z, term.w, chain);
  }
  meet();
  return chain;
}

ZRT_KERNEL(32)
matvec_q4_k(global const char* q, global const uint4* head, global const char* xq, global const float* xd,
            global const float* bias, global float* y, uint rows, uint cols) {
  local int sums[SLOTS * PITCH] __attribute__((aligned(16))), x_sums[4 * PITCH] __attribute__((aligned(16)));
  local float4 terms[SLOTS];
  const uint lane = lane_id(), first = group_x() * ROWS, blocks = cols / 256;
  const uint count = rows - first < ROWS ? rows - first : ROWS;
  const Matrix m = {q + (ulong)first * blocks * 128, head + (ulong)first * blocks, xq + (ulong)group_y() * cols,
                    xd + (ulong)group_y() * blocks, blocks, count};
  const Shared shared = {sums, x_sums, terms};
  float chain = 0.0f;
  uint at = 0;
  for (; at + 4 <= blocks; at += 4) chain = take_blocks(4, m, at, shared, chain);
  if (at + 2 <= blocks) chain = take_blocks(2, m, at, shared, chain), at += 2;
  if (at < blocks) chain = take_blocks(1, m, at, shared, chain);
  if (lane < count) y[(ulong)group_y() * rows + first + lane] = bias == 0 ? chain : chain + bias[first + lane];
}
