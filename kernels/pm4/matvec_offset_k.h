// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_offset_k.h: a block of Q4_K or, where FIVE_BITS is 1, of Q5_K, and its product with a token.
//
// The matrix is upload/q4_k.hpp's or upload/q5_k.hpp's, as pieces.h says: q has eight pieces of a block, top two, head
// one.
#pragma once

#include "blocks_k.h"

typedef struct {
  global const char *q, *top, *head;  // of the wave's rows
} Matrix;

typedef struct {
  uint4 halves[8], top[2], head;
} Block;

/// Block `b` of a row.
ZRT_INLINE Block load_block(Matrix m, Lane row, uint blocks, uint b) {
  global const char *q = m.q + (ulong)b * (8 * PIECES), *head = m.head + (ulong)b * PIECES;
  global const char* top = m.top + (ulong)b * (2 * PIECES);
  const uint skip = row.skip * blocks;
  uint offset = row.row * 16;
  // Made beside the loads, which add 32 bits by themselves.
  __asm("" : "+v"(offset) : "s"(b));
  Block block;
#pragma unroll
  for (uint i = 0; i < 8; ++i) block.halves[i] = *(global const uint4*)(q + (offset + skip * (8 * PIECES)) + i * PIECES);
#pragma unroll
  for (uint i = 0; i < 2; ++i)
    block.top[i] = FIVE_BITS ? *(global const uint4*)(top + (offset + skip * (2 * PIECES)) + i * PIECES) : (uint4)0;
  block.head = *(global const uint4*)(head + (offset + skip * PIECES));
  return block;
}

ZRT_INLINE int factor_of(KFactors f, uint run) { return unsigned_byte(run < 4 ? f.low : f.high, run % 4); }

/// Goes on with the chain of one token over a block.
ZRT_INLINE float multiply(Block block, Activations a, uint token, uint b, float chain) {
  const half2 d = __builtin_astype(block.head.x, half2);
  const KFactors scales = scales_of(block.head), offsets = offsets_of(block.head);
  constant const uint* x = x_of(a, token, b);
  // Of four bits, runs in the upper halves of bytes are sixteen times what they are.
  int lower = 0, upper = 0;
#pragma unroll
  for (uint run = 0; run < 8; run += 2) {
    int low = 0, high = 0;
#pragma unroll
    for (uint i = 0; i < 8; ++i) {
      const uint word = block.halves[run + i / 4][i % 4];
      const uint bits = block.top[i / 4][i % 4] >> run;
      const uint first = FIVE_BITS ? (word & 0x0f0f0f0f) | (bits << 4 & 0x10101010) : word & 0x0f0f0f0f;
      const uint second = FIVE_BITS ? (word >> 4 & 0x0f0f0f0f) | (bits << 3 & 0x10101010) : word & 0xf0f0f0f0;
      low = __builtin_amdgcn_sudot4(false, first, true, x[run * 8 + i], low, false);
      high = __builtin_amdgcn_sudot4(false, second, true, x[run * 8 + 8 + i], high, false);
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
  chain = __builtin_fmaf(scale, (float)(lower + (FIVE_BITS ? upper : upper >> 4)), chain);
  return __builtin_fmaf(minimum, (float)offset, chain);
}

#include "matvec_k.h"
