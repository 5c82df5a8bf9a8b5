// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_q4_k.cl: a Q4_K matrix times rounded activations, for generated tokens.
//
// The matrix is upload/q4_k.hpp's: q [rows][blocks][128], head [ceil(rows / 8)][blocks][8][16]. Activations are
// round_activation_q8_256's: xq [tokens][cols], xd [tokens][cols / 256].
//
// Grid: (ceil(rows / 32), ceil(tokens / 8)). Each weight byte is read once. Canonical: the order `blocks`, the offset's
// step behind the scale's.
#include "blocks_k.h"

typedef struct {
  global const char* q;  // of the wave's first row
  global const uint4* head;
  global const char* xq;  // of its first token
  global const float* xd;
  uint blocks, rows, tokens;
} Matrix;

typedef struct {
  local int *sums, *x_sums;
  local float* chains;  // [TOKENS][ROWS]
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

/// The chains of a wave's rows, of which there are 32 where `full`.
ZRT_INLINE void take_rows(const bool full, Matrix m, Shared shared) {
  const uint lane = lane_id(), k = lane % 8;
  const uint4 mask = 0x0f0f0f0f;
  global const char* rows[LOADS];
#pragma unroll
  for (uint i = 0; i < LOADS; ++i) {
    rows[i] = m.q + (ulong)(i * 4) * m.blocks * 128;
    ZRT_UNIFORM(rows[i]);
  }
#pragma unroll 1
  for (uint b = 0; b < m.blocks; ++b) {
    const uint offset = (lane / 8 * m.blocks + b) * 128 + k * 16;
    uint4 halves[LOADS];
#pragma unroll
    for (uint i = 0; i < LOADS; ++i)
      halves[i] = full || i * 4 + lane / 8 < m.rows ? *(global const uint4*)(rows[i] + offset) : (uint4)0;
    const uint4 head = full || lane < m.rows ? m.head[(lane / 8 * m.blocks + b) * 8 + k] : (uint4)0;
    const half2 d = __builtin_astype(head.x, half2);
    const KFactors scales = scales_of(head), offsets = offsets_of(head);
#pragma unroll 1
    for (uint t = 0; t < m.tokens; ++t) {
      global const char* x = m.xq + (t * m.blocks + b) * 256;
      ZRT_UNIFORM(x);
      const uint from = k / 2 * 64 + k % 2 * 16;
      const uint4 x_low = *(global const uint4*)(x + from), x_high = *(global const uint4*)(x + from + 32);
      const float x_scale = m.xd[t * m.blocks + b];
      // All four that share k write the same.
      const int2 x_sum = {sum_of(x_low), sum_of(x_high)};
      *(local int2*)(shared.x_sums + k * 2) = x_sum;
#pragma unroll
      for (uint i = 0; i < LOADS; ++i) {
        const int2 sum = {dot_of(halves[i] & mask, x_low, 0), dot_of(halves[i] >> 4 & mask, x_high, 0)};
        *(local int2*)(shared.sums + (i * 4 + lane / 8) * PITCH + k * 2) = sum;
      }
      meet();
      const int sum = sum_of_runs(shared.sums + lane * PITCH, scales);
      const float scale = (float)d.x * x_scale, minimum = -(float)d.y * x_scale;
      float chain = b == 0 ? 0.0f : shared.chains[t * ROWS + lane];
      chain = __builtin_fmaf(scale, (float)sum, chain);
      chain = __builtin_fmaf(minimum, (float)sum_of_runs(shared.x_sums, offsets), chain);
      shared.chains[t * ROWS + lane] = chain;
      meet();
    }
  }
}

ZRT_KERNEL(32)
matvec_q4_k(global const char* q, global const uint4* head, global const char* xq, global const float* xd,
            global const float* bias, global float* y, uint rows, uint cols, uint tokens) {
  local int sums[ROWS * PITCH] __attribute__((aligned(16))), x_sums[16] __attribute__((aligned(16)));
  local float chains[TOKENS * ROWS];
  const Part here = part_of(group_x(), ROWS, rows), batch = part_of(group_y(), TOKENS, tokens);
  const Result result = result_of(bias, y, rows, here, batch);
  const uint blocks = cols / 256;
  const ulong before = (ulong)here.first * blocks;
  const Matrix m = {q + before * 128, head + before, xq + (ulong)batch.first * cols, xd + (ulong)batch.first * blocks,
                    blocks,           here.count,    batch.count};
  const Shared shared = {sums, x_sums, chains};
  if (here.count == ROWS)
    take_rows(true, m, shared);
  else
    take_rows(false, m, shared);
  put_rows(result, chains);
}
