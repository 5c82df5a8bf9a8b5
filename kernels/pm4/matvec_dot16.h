// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_dot16.h: a matrix of ELEMENT times activations of f32, for generated tokens: the kernel NAME, and
// EXPERTS, which takes the rows of one expert and one row of activations instead: experts.h. WIDEN makes a weight a float.
//
// Weights as pieces.h says, a row whole pieces. Grid: (ceil(rows / 32), ceil(tokens / 4)). A lane has a row, of which it
// loads 64 columns at once and multiplies them with up to four tokens. Activations are the same for all lanes, so that
// they are scalars. Canonical: the order dot16, whose lanes are sixteen registers; those of several tokens are in local
// memory between steps.
#include "experts.h"
#include "pieces.h"
#include "rows.h"

#define TOKENS 4
#define STEP 64
#define COLUMNS COLUMNS_OF(ELEMENT)

typedef ELEMENT Piece __attribute__((ext_vector_type(COLUMNS)));

typedef struct {
  global const ELEMENT* w;  // of the wave's rows
  global const float* x;    // of its first token
  uint cols, tokens;
  Lane lane;
  local float16* chains;  // of this lane, those of the next token 32 further
} Matrix;

/// Goes on with the chains of one token over the columns from `at` that `w` has, 16 or whole steps of them, of which
/// only `left` are there.
ZRT_INLINE float16 multiply(const uint columns, Matrix m, const uint4* w, uint token, uint at, uint left,
                            float16 chains) {
  // In the address space of what no wave writes, whose loads of one address for all lanes are scalar.
  constant const float* x = (constant const float*)(ulong)(m.x + token * m.cols + at);
#pragma unroll
  for (uint i = 0; i < columns; i += COLUMNS) {
    if (columns == STEP || i < left) {
#pragma unroll
      for (uint j = 0; j < COLUMNS; ++j) {
        const float weight = WIDEN(__builtin_astype(w[i / COLUMNS], Piece)[j]);
        chains[(i + j) % 16] = __builtin_fmaf(weight, x[i + j], chains[(i + j) % 16]);
      }
    }
  }
  return chains;
}

/// A step of one token, whose chains stay in registers, or of several.
ZRT_INLINE float16 take_columns(const uint columns, const bool alone, Matrix m, uint at, float16 chains) {
  const uint left = m.cols - at;
  global const char* from = (global const char*)(m.w + (ulong)at * GROUP_ROWS);
  uint offset = m.lane.row * 16 + m.lane.skip * m.cols * (uint)(GROUP_ROWS * sizeof(ELEMENT));
  // Made beside the loads, which add 32 bits by themselves.
  __asm("" : "+v"(offset) : "s"(at));
  uint4 w[STEP / COLUMNS];
#pragma unroll
  for (uint i = 0; i < columns; i += COLUMNS)
    if (columns == STEP || i < left) w[i / COLUMNS] = *(global const uint4*)(from + offset + i / COLUMNS * PIECES);
  if (alone) return multiply(columns, m, w, 0, at, left, chains);
#pragma unroll 1
  for (uint t = 0; t < m.tokens; ++t) {
    // Keeps weights from being widened once for all tokens, which takes more than the multiply-adds that widen by
    // themselves.
#pragma unroll
    for (uint i = 0; i < columns / COLUMNS; ++i) __asm("" : "+v"(w[i]));
    local float16* of = m.chains + t * 32;
    *of = multiply(columns, m, w, t, at, left, at == 0 ? (float16)0.0f : *of);
  }
  return chains;
}

/// dot16's tree.
ZRT_INLINE float tree_of(float16 chains) {
  const float8 eight = chains.lo + chains.hi;
  const float4 four = eight.lo + eight.hi;
  const float2 two = four.lo + four.hi;
  return two.x + two.y;
}

/// The chains of one token; those of several are left in local memory.
ZRT_INLINE float16 take_row(const bool alone, Matrix m) {
  float16 chains = 0.0f;
  uint at = 0;
#pragma unroll 1
  for (; at + STEP <= m.cols; at += STEP) chains = take_columns(STEP, alone, m, at, chains);
#pragma unroll 1
  for (; at < m.cols; at += 16) chains = take_columns(16, alone, m, at, chains);
  return chains;
}

ZRT_INLINE void take_rows(const bool alone, Matrix m, Result result) {
  const float16 chains = take_row(alone, m);
  if (alone) return put(result, lane_id(), 0, tree_of(chains));
#pragma unroll 1
  for (uint t = 0; t < m.tokens; ++t) put(result, lane_id(), t, tree_of(m.chains[t * 32]));
}

ZRT_KERNEL(32)
NAME(global const ELEMENT* w, global const float* x, global const float* bias, global float* y, uint rows, uint cols,
     uint tokens) {
  local float16 chains[TOKENS * 32];
  const Part here = part_of(group_x(), GROUP_ROWS, rows), batch = part_of(group_y(), TOKENS, tokens);
  const Result result = result_of(bias, y, rows, here, batch);
  const Matrix m = {w + (ulong)here.first * cols, x + (ulong)batch.first * cols, cols, batch.count, own_lane(),
                    chains + lane_id()};
  if (lane_id() >= here.count) return;
  if (batch.count == 1)
    take_rows(true, m, result);
  else
    take_rows(false, m, result);
}

ZRT_KERNEL(32)
EXPERTS(global const ELEMENT* w, global const float* x, EXPERT_ARGUMENTS) {
  const ExpertOperands operands = EXPERT_OPERANDS;
  const ExpertShape shape = EXPERT_SHAPE;
  const ExpertRows here = expert_rows(operands, shape);
  if (!here.counts) return put_nothing(here, operands, shape);
  const Matrix m = {w + (ulong)here.group * GROUP_ROWS * cols, x + (ulong)here.x_row * cols, cols, 1, here.lane, 0};
  if (here.has_row) put_row(here, operands, shape, tree_of(take_row(true, m)));
}
