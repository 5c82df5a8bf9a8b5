// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_blocks.cl: a Q8_0, Q4_0 or MXFP4 matrix times rounded activations, for generated tokens.
//
// The matrix lies as pieces.h says. Activations are round_activation_q8_32's: xq [tokens][cols], xd [tokens][cols / 32].
//
// Grid: (ceil(rows / 32), ceil(tokens / 8)). A lane has a row, of which it loads eight blocks at once and multiplies them
// with up to eight tokens. Activations are the same for all lanes, so that they are scalars. Canonical: the order
// `blocks`, sums of blocks being exact. The chains of several tokens are in local memory between steps. experts_* take
// the rows of one expert and one row of activations instead: experts.h.
#include "experts.h"
#include "floats4.h"
#include "pieces.h"
#include "rows.h"

#define TOKENS 8

enum Type { q8_0, q4_0, mxfp4 };

typedef struct {
  global const char* q;  // of the wave's rows
  global const char* d;
  global const char* xq;  // of its first token
  global const float* xd;
  uint cols, tokens;
  Lane lane;
  local float* chains;  // of this lane, those of the next token 32 further
} Matrix;

/// Goes on with `sum` by 16 products of signed bytes.
ZRT_INLINE int dot_of(uint4 w, constant const uint* x, int sum) {
#pragma unroll
  for (uint i = 0; i < 4; ++i) sum = __builtin_amdgcn_sudot4(true, w[i], true, x[i], sum, false);
  return sum;
}
/// The exact sum of a block.
ZRT_INLINE int block_sum(const enum Type type, uint4 low, uint4 high, constant const uint* x) {
  if (type == q8_0) return dot_of(high, x + 4, dot_of(low, x, 0));
  if (type == mxfp4) {
    int sum = 0;
#pragma unroll
    for (uint i = 0; i < 4; ++i) {
      sum = __builtin_amdgcn_sudot4(true, twice_floats(low[i]), true, x[i], sum, false);
      sum = __builtin_amdgcn_sudot4(true, twice_floats(low[i] >> 4), true, x[4 + i], sum, false);
    }
    return sum;
  }
  // A half in the upper four bits of a byte is sixteen times its value.
  return dot_of(low & 0xf0f0f0f0, x + 4, dot_of(low << 4 & 0xf0f0f0f0, x, 0)) >> 4;
}

/// Bytes of the scale of a block.
ZRT_INLINE uint scale_bytes(const enum Type type) { return type == mxfp4 ? 1 : 2; }
typedef struct {
  half d[8];
  uint exponents[2];
} Scales;

/// Loads the scales of 1, 2, 4 or 8 blocks, which lie side by side.
ZRT_INLINE Scales load_scales(const enum Type type, const uint count, global const char* from) {
  Scales s;
  if (type != mxfp4)
    load_halves(count, from, s.d);
  else if (count == 8)
    s.exponents[0] = ((global const uint*)from)[0], s.exponents[1] = ((global const uint*)from)[1];
  else
    s.exponents[0] = count == 4   ? *(global const uint*)from
                     : count == 2 ? *(global const ushort*)from
                                  : *(global const uchar*)from;
  return s;
}
ZRT_INLINE float scale_of(const enum Type type, const Scales* s, const uint i) {
  return type == mxfp4 ? half_power(s->exponents[i / 4] >> i % 4 * 8 & 255) : (float)s->d[i];
}

/// Goes on with the chain of one token over `blocks` blocks from `block`.
ZRT_INLINE float multiply(const enum Type type, const uint blocks, Matrix m, const uint4* low, const uint4* high,
                          const Scales* d, uint token, uint block, float chain) {
  // In the address space of what no wave writes, whose loads of one address for all lanes are scalar.
  constant const uint* x = (constant const uint*)(ulong)(m.xq + token * m.cols + block * 32);
  constant const float* scales = (constant const float*)(ulong)(m.xd + token * (m.cols / 32) + block);
#pragma unroll
  for (uint i = 0; i < blocks; ++i) {
    const float scale = scale_of(type, d, i) * scales[i];
    chain = __builtin_fmaf(scale, (float)block_sum(type, low[i], high[i], x + i * 8), chain);
  }
  return chain;
}

/// A step of one token, whose chain stays in a register, or of several.
ZRT_INLINE float take_blocks(const enum Type type, const uint blocks, const bool alone, Matrix m, uint block,
                             float chain) {
  const uint pieces = type == q8_0 ? 2 : 1;
  global const char* from = m.q + (ulong)block * (pieces * PIECES);
  const uint d_bytes = scale_bytes(type);
  global const char* d_from = m.d + (ulong)block * (GROUP_ROWS * d_bytes);
  const uint skip = m.lane.skip * (m.cols / 32);
  uint offset = m.lane.row * 16 + skip * (pieces * PIECES);
  uint d_offset = m.lane.row * (blocks * d_bytes) + skip * (GROUP_ROWS * d_bytes);
  // Made beside the loads, which add 32 bits by themselves.
  __asm("" : "+v"(offset), "+v"(d_offset) : "s"(block));
  uint4 low[8], high[8];
#pragma unroll
  for (uint i = 0; i < blocks; ++i) {
    low[i] = *(global const uint4*)(from + offset + i * pieces * PIECES);
    high[i] = type == q8_0 ? *(global const uint4*)(from + offset + (i * 2 + 1) * PIECES) : (uint4)0;
  }
  const Scales d = load_scales(type, blocks, d_from + d_offset);
  if (alone) return multiply(type, blocks, m, low, high, &d, 0, block, chain);
#pragma unroll 1
  for (uint t = 0; t < m.tokens; ++t) {
    local float* of = m.chains + t * 32;
    *of = multiply(type, blocks, m, low, high, &d, t, block, block == 0 ? 0.0f : *of);
  }
  return chain;
}

/// The chain of one token; those of several are left in local memory.
ZRT_INLINE float take_row(const enum Type type, const bool alone, Matrix m) {
  const uint blocks = m.cols / 32;
  float chain = 0.0f;
  uint b = 0;
#pragma unroll 1
  for (; b + 8 <= blocks; b += 8) chain = take_blocks(type, 8, alone, m, b, chain);
  if (b + 4 <= blocks) {
    chain = take_blocks(type, 4, alone, m, b, chain);
    b += 4;
  }
  if (b + 2 <= blocks) {
    chain = take_blocks(type, 2, alone, m, b, chain);
    b += 2;
  }
  if (b < blocks) chain = take_blocks(type, 1, alone, m, b, chain);
  return chain;
}

ZRT_INLINE void take_rows(const enum Type type, const bool alone, Matrix m, Result result) {
  const float chain = take_row(type, alone, m);
  if (alone) return put(result, lane_id(), 0, chain);
#pragma unroll 1
  for (uint t = 0; t < m.tokens; ++t) put(result, lane_id(), t, m.chains[t * 32]);
}

ZRT_INLINE void product(const enum Type type, global const char* q, global const char* d, global const char* xq,
                        global const float* xd, global const float* bias, global float* y, uint rows, uint cols,
                        uint tokens, local float* chains) {
  const Part here = part_of(group_x(), GROUP_ROWS, rows), batch = part_of(group_y(), TOKENS, tokens);
  const Result result = result_of(bias, y, rows, here, batch);
  const uint blocks = cols / 32;
  const Matrix m = {q + (ulong)here.first * (type == q8_0 ? cols : cols / 2),
                    d + (ulong)here.first * blocks * scale_bytes(type),
                    xq + (ulong)batch.first * cols,
                    xd + (ulong)batch.first * blocks,
                    cols,
                    batch.count,
                    own_lane(),
                    chains + lane_id()};
  if (lane_id() >= here.count) return;
  if (batch.count == 1)
    take_rows(type, true, m, result);
  else
    take_rows(type, false, m, result);
}

#define ZRT_MATVEC(type)                                                                                               \
  ZRT_KERNEL(32)                                                                                                       \
  matvec_##type(global const char* q, global const char* d, global const char* xq, global const float* xd,             \
                global const float* bias, global float* y, uint rows, uint cols, uint tokens) {                        \
    local float chains[TOKENS * 32];                                                                                   \
    product(type, q, d, xq, xd, bias, y, rows, cols, tokens, chains);                                                  \
  }
ZRT_MATVEC(q8_0)
ZRT_MATVEC(q4_0)
ZRT_MATVEC(mxfp4)

ZRT_INLINE void expert_product(const enum Type type, global const char* q, global const char* d, global const char* xq,
                               global const float* xd, ExpertOperands operands, ExpertShape shape) {
  const ExpertRows here = expert_rows(operands, shape);
  if (!here.counts) return put_nothing(here, operands, shape);
  const ulong first = (ulong)here.group * GROUP_ROWS, blocks = shape.cols / 32;
  const Matrix m = {q + first * (type == q8_0 ? shape.cols : shape.cols / 2),
                    d + first * blocks * scale_bytes(type),
                    xq + (ulong)here.x_row * shape.cols,
                    xd + here.x_row * blocks,
                    shape.cols,
                    1,
                    here.lane,
                    0};
  if (here.has_row) put_row(here, operands, shape, take_row(type, true, m));
}

#define ZRT_EXPERTS(type)                                                                                              \
  ZRT_KERNEL(32)                                                                                                       \
  experts_##type(global const char* q, global const char* d, global const char* xq, global const float* xd,            \
                 EXPERT_ARGUMENTS) {                                                                                   \
    expert_product(type, q, d, xq, xd, EXPERT_OPERANDS, EXPERT_SHAPE);                                                 \
  }
ZRT_EXPERTS(q8_0)
ZRT_EXPERTS(q4_0)
ZRT_EXPERTS(mxfp4)
