// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_q6_k.cl: a Q6_K matrix times rounded activations, for generated tokens.
//
// The matrix is upload/q6_k.hpp's, as pieces.h says: low has eight pieces of a block, top four, scales one; d is one value
// of each.
//
// Grid: (ceil(rows / 32), ceil(tokens / 8)). Canonical: the order `blocks`.
#include "blocks_k.h"

typedef struct {
  global const char *low, *top, *scales, *d;  // of the wave's rows
} Matrix;

typedef struct {
  uint4 low[8], top[4], scales;
  half d;
} Block;

/// Block `b` of a row.
ZRT_INLINE Block load_block(Matrix m, Lane row, uint blocks, uint b) {
  global const char *low = m.low + (ulong)b * (8 * PIECES), *top = m.top + (ulong)b * (4 * PIECES);
  global const char *scales = m.scales + (ulong)b * PIECES, *d = m.d + (ulong)b * (GROUP_ROWS * 2);
  const uint skip = row.skip * blocks;
  uint offset = row.row * 16, d_offset = row.row * 2;
  // Made beside the loads, which add 32 bits by themselves.
  __asm("" : "+v"(offset), "+v"(d_offset) : "s"(b));
  Block block;
#pragma unroll
  for (uint i = 0; i < 8; ++i) block.low[i] = *(global const uint4*)(low + (offset + skip * (8 * PIECES)) + i * PIECES);
#pragma unroll
  for (uint i = 0; i < 4; ++i) block.top[i] = *(global const uint4*)(top + (offset + skip * (4 * PIECES)) + i * PIECES);
  block.scales = *(global const uint4*)(scales + (offset + skip * PIECES));
  block.d = *(global const half*)(d + (d_offset + skip * (GROUP_ROWS * 2)));
  return block;
}

/// The product of a run, whose number is `run`, and its scale, where each value is four times what it is: its four low
/// bits are bits 2 to 5 of `low`, its upper two the upper ones of `pairs`, shifted by two for each word.
ZRT_INLINE int scaled_run(uint4 low, uint pairs, constant const uint* x, uint4 scales, uint run) {
  int sum = 0;
#pragma unroll
  for (uint i = 0; i < 4; ++i) {
    const uint word = (pairs << (6 - 2 * i) & 0xc0c0c0c0) | (low[i] & 0x3c3c3c3c);
    sum = __builtin_amdgcn_sudot4(true, word, true, x[i], sum, false);
  }
  return product24(signed_byte(scales[run / 4], run % 4), sum);
}

/// Goes on with the chain of one token over a block.
ZRT_INLINE float multiply(Block block, Activations a, uint token, uint b, float chain) {
  constant const uint* x = x_of(a, token, b);
  int sum = 0;
#pragma unroll
  for (uint i = 0; i < 8; ++i) {
    const uint4 low = block.low[i], top = block.top[i / 2];
    const uint run = i / 4 * 8 + i % 4;
    sum += scaled_run(low << 2, top[i % 2 * 2], x + run * 4, block.scales, run);
    sum += scaled_run(low >> 2, top[i % 2 * 2 + 1], x + (run + 4) * 4, block.scales, run + 4);
  }
  return __builtin_fmaf((float)block.d * x_scale_of(a, token, b), (float)(sum >> 2), chain);
}

#include "matvec_k.h"

ZRT_KERNEL(32)
matvec_q6_k(global const char* low, global const char* top, global const char* scales, global const char* d,
            global const char* xq, global const float* xd, global const float* bias, global float* y, uint rows,
            uint cols, uint tokens) {
  local float chains[TOKENS * 32];
  const Part here = part_of(group_x(), GROUP_ROWS, rows), batch = part_of(group_y(), TOKENS, tokens);
  const ulong blocks = (ulong)here.first * (cols / 256);
  const Matrix m = {low + blocks * 128, top + blocks * 64, scales + blocks * 16, d + blocks * 2};
  product(m, activations_of(xq, xd, cols, batch), chains, result_of(bias, y, rows, here, batch));
}

ZRT_KERNEL(32)
experts_q6_k(global const char* low, global const char* top, global const char* scales, global const char* d,
             global const char* xq, global const float* xd, EXPERT_ARGUMENTS) {
  const ExpertOperands operands = EXPERT_OPERANDS;
  const ExpertShape shape = EXPERT_SHAPE;
  const ExpertRows here = expert_rows(operands, shape);
  if (!here.counts) return put_nothing(here, operands, shape);
  const ulong blocks = (ulong)here.group * GROUP_ROWS * (cols / 256);
  const Matrix m = {low + blocks * 128, top + blocks * 64, scales + blocks * 16, d + blocks * 2};
  take_expert(m, here, operands, shape, xq, xd);
}
