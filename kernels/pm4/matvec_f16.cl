// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_f16.cl: a matrix of f16 times activations of f32, for generated tokens.
//
// Weights [rows][cols], cols a multiple of 8. Grid: (ceil(rows / 32), ceil(tokens / 4)). A wave takes 32 rows, 64 columns
// of each in a step, which it loads once and multiplies with up to four tokens: a load takes 128 contiguous bytes of each
// of four rows. Canonical: the order dot16, whose lanes are sixteen registers of the lane that has the row; the way there
// is through local memory. So activations are the same for all lanes, and scalars. Between steps a token's chains are in
// local memory too.
#include "rows.h"

#define TOKENS 4
#define ROWS 32
#define LOADS (ROWS / 4)
#define STEP 64
// In halves. Rows four banks apart, so that eight lanes that read 16 bytes of eight rows meet no conflict.
#define PITCH (STEP + 8)

typedef struct {
  global const half* w;   // of the wave's first row
  global const float* x;  // of its first token
  uint cols, rows, tokens;
  local half* staged;
  local float16* chains;  // of this lane, [TOKENS][ROWS]
} Matrix;

/// Brings the columns from `at` to local memory: STEP of them where `whole`, and of 32 rows where `full`, else zeros
/// behind them.
ZRT_INLINE void stage(const bool full, const bool whole, Matrix m, global const half* const* rows, uint at) {
  const uint row = lane_id() / 8, column = lane_id() % 8 * 8, offset = (row * m.cols + column + at) * 2;
  local half* to = m.staged + row * PITCH + column;
  meet();
  if (full && whole) {
    // All loads are under way at once.
    uint4 loaded[LOADS];
#pragma unroll
    for (uint i = 0; i < LOADS; ++i) loaded[i] = *(global const uint4*)((global const char*)rows[i] + offset);
#pragma unroll
    for (uint i = 0; i < LOADS; ++i) *(local uint4*)(to + i * 4 * PITCH) = loaded[i];
  } else {
#pragma unroll 1
    for (uint i = 0; i < LOADS; ++i) {
      const bool has = i * 4 + row < m.rows && at + column < m.cols;
      global const half* w = m.w + (ulong)(i * 4) * m.cols;
      *(local uint4*)(to + i * 4 * PITCH) = has ? *(global const uint4*)((global const char*)w + offset) : (uint4)0;
    }
  }
  meet();
}

/// Goes on with a token's chains over what is in local memory.
ZRT_INLINE float16 take_step(const bool whole, Matrix m, uint token, uint at, float16 chains) {
  uint of_row = lane_id() * PITCH;
  // Keeps weights from being widened once for all tokens, which takes more than the multiply-adds that widen by
  // themselves.
  __asm("" : "+v"(of_row) : "s"(token));
  local const half* weights = m.staged + of_row;
  // In the address space of what no wave writes, whose loads of one address for all lanes are scalar.
  constant const float* x = (constant const float*)(ulong)(m.x + token * m.cols + at);
#pragma unroll
  for (uint i = 0; i < STEP; i += 16) {
    // Columns are padded with zeros to a multiple of 16.
    if (!whole && at + i >= m.cols) break;
    const bool upper = whole || at + i + 8 < m.cols;
    const half8 low = *(local const half8*)(weights + i), high = *(local const half8*)(weights + i + 8);
#pragma unroll
    for (uint j = 0; j < 8; ++j) {
      chains[j] = __builtin_fmaf((float)low[j], x[i + j], chains[j]);
      chains[j + 8] = __builtin_fmaf((float)high[j], upper ? x[i + j + 8] : 0.0f, chains[j + 8]);
    }
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

/// A step of one token, whose chains stay in registers, or of several.
ZRT_INLINE float16 take_columns(const bool full, const bool whole, const bool alone, Matrix m,
                                global const half* const* rows, uint at, float16 chains) {
  stage(full, whole, m, rows, at);
  if (alone) return take_step(whole, m, 0, at, chains);
#pragma unroll 1
  for (uint t = 0; t < m.tokens; ++t) {
    local float16* of = m.chains + t * ROWS;
    *of = take_step(whole, m, t, at, at == 0 ? (float16)0.0f : *of);
  }
  return chains;
}

/// The products of a wave's rows, of which there are 32 where `full`.
ZRT_INLINE void take_rows(const bool full, const bool alone, Matrix m, Result result) {
  global const half* rows[LOADS];
#pragma unroll
  for (uint i = 0; i < LOADS; ++i) {
    rows[i] = m.w + (ulong)(i * 4) * m.cols;
    ZRT_UNIFORM(rows[i]);
  }
  float16 chains = 0.0f;
  uint at = 0;
#pragma unroll 1
  for (; at + STEP <= m.cols; at += STEP) chains = take_columns(full, true, alone, m, rows, at, chains);
  if (at < m.cols) chains = take_columns(full, false, alone, m, rows, at, chains);
  if (alone) return put(result, lane_id(), 0, tree_of(chains));
#pragma unroll 1
  for (uint t = 0; t < m.tokens; ++t) put(result, lane_id(), t, tree_of(m.chains[t * ROWS]));
}

ZRT_KERNEL(32)
matvec_f16(global const half* w, global const float* x, global const float* bias, global float* y, uint rows, uint cols,
           uint tokens) {
  local half staged[ROWS * PITCH] __attribute__((aligned(16)));
  local float16 chains[TOKENS * ROWS];
  const Part here = part_of(group_x(), ROWS, rows), batch = part_of(group_y(), TOKENS, tokens);
  const Result result = result_of(bias, y, rows, here, batch);
  const Matrix m = {w + (ulong)here.first * cols, x + (ulong)batch.first * cols, cols, here.count, batch.count, staged,
                    chains + lane_id()};
  if (here.count < ROWS)
    take_rows(false, false, m, result);
  else if (batch.count == 1)
    take_rows(true, true, m, result);
  else
    take_rows(true, false, m, result);
}
