// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_q4_k.cl: a Q4_K matrix times rounded activations, for generated tokens.
//
// The matrix is upload/q4_k.hpp's, as pieces.h says: q has eight pieces of a block, head one.
//
// Grid: (ceil(rows / 32), ceil(tokens / 8)). Canonical: the order `blocks`, the offset's step behind the scale's.
#include "blocks_k.h"

typedef struct {
  global const char *q, *head;  // of the wave's rows
} Matrix;

typedef struct {
  uint4 halves[8], head;
} Block;

/// Block `b` of a row.
ZRT_INLINE Block load_block(Matrix m, uint row, uint b) {
  global const char *q = m.q + (ulong)b * (8 * PIECES), *head = m.head + (ulong)b * PIECES;
  uint offset = row * 16;
  // Made beside the loads, which add 32 bits by themselves.
  __asm("" : "+v"(offset) : "s"(b));
  Block block;
#pragma unroll
  for (uint i = 0; i < 8; ++i) block.halves[i] = *(global const uint4*)(q + offset + i * PIECES);
  block.head = *(global const uint4*)(head + offset);
  return block;
}

ZRT_INLINE int factor_of(KFactors f, uint run) { return unsigned_byte(run < 4 ? f.low : f.high, run % 4); }

/// Goes on with the chain of one token over a block.
ZRT_INLINE float multiply(Block block, Activations a, uint token, uint b, float chain) {
  const half2 d = __builtin_astype(block.head.x, half2);
  const KFactors scales = scales_of(block.head), offsets = offsets_of(block.head);
  constant const uint* x = x_of(a, token, b);
  // Runs in the upper halves of bytes are sixteen times what they are.
  int lower = 0, upper = 0;
#pragma unroll
  for (uint run = 0; run < 8; run += 2) {
    int low = 0, high = 0;
#pragma unroll
    for (uint i = 0; i < 8; ++i) {
      const uint word = block.halves[run + i / 4][i % 4];
      low = __builtin_amdgcn_sudot4(false, word & 0x0f0f0f0f, true, x[run * 8 + i], low, false);
      high = __builtin_amdgcn_sudot4(false, word & 0xf0f0f0f0, true, x[run * 8 + 8 + i], high, false);
    }
    lower += product24(factor_of(scales, run), low);
    upper += product24(factor_of(scales, run + 1), high);
  }
  // Lane k of eight sums up the activations of run k.
  global const uint4* own = (global const uint4*)(a.xq + (token * a.blocks + b) * 256) + lane_id() % 8 * 2;
  const int x_sum = sum_of(own[0]) + sum_of(own[1]);
  int offset = 0;
#pragma unroll
  for (uint run = 0; run < 8; ++run)
    offset += product24(factor_of(offsets, run), __builtin_amdgcn_readlane(x_sum, run));
  const float x_scale = x_scale_of(a, token, b);
  const float scale = (float)d.x * x_scale, minimum = -(float)d.y * x_scale;
  chain = __builtin_fmaf(scale, (float)(lower + (upper >> 4)), chain);
  return __builtin_fmaf(minimum, (float)offset, chain);
}

#include "matvec_k.h"

ZRT_KERNEL(32)
matvec_q4_k(global const char* q, global const char* head, global const char* xq, global const float* xd,
            global const float* bias, global float* y, uint rows, uint cols, uint tokens) {
  local float chains[TOKENS * 32];
  const Part here = part_of(group_x(), GROUP_ROWS, rows), batch = part_of(group_y(), TOKENS, tokens);
  const ulong blocks = (ulong)here.first * (cols / 256);
  const Matrix m = {q + blocks * 128, head + blocks * 16};
  product(m, activations_of(xq, xd, cols, batch), chains, result_of(bias, y, rows, here, batch));
}
