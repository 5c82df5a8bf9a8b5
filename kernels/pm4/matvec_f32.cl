// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_f32.cl: a matrix of f32 times activations of f32, for generated tokens.
//
// Weights [rows][cols], cols a multiple of 4. Grid: (ceil(rows / 32), ceil(tokens / 4)). A wave takes 32 rows, which it
// loads once and multiplies with up to four tokens. Eight rows are a group; four neighbours share one of its rows, 16
// columns of it at a time, so that a load takes 64 contiguous bytes of each. Canonical: the order dot16; the four have
// the sixteen lanes of a row, four each. Between steps a token's chains are in local memory.
#include "rows.h"

#define TOKENS 4
#define GROUPS 4
// Columns of 16 whose loads are under way at once.
#define DEPTH 4

typedef struct {
  global const float* w;  // of this lane's row of the first group, from this lane's columns on
  global const float* x;  // of the wave's first token, likewise
  uint cols, row, rows, tokens;
  local float4* chains;  // of this lane, [TOKENS][GROUPS][32]
} Matrix;

/// Goes on with the chains over 16 * `depth` columns from `at`, of which this lane has some, and of 32 rows where `full`.
ZRT_INLINE void take_columns(const bool full, const uint depth, Matrix m, uint at, bool has) {
  float4 w[DEPTH][GROUPS];
#pragma unroll
  for (uint g = 0; g < GROUPS; ++g) {
    global const float* from = m.w + (ulong)(g * 8) * m.cols + at;
#pragma unroll
    for (uint i = 0; i < depth; ++i)
      w[i][g] = has && (full || m.row + g * 8 < m.rows) ? *(global const float4*)(from + i * 16) : (float4)0.0f;
  }
#pragma unroll 1
  for (uint t = 0; t < m.tokens; ++t) {
    global const float* from = m.x + t * m.cols + at;
    float4 x[DEPTH];
#pragma unroll
    for (uint i = 0; i < depth; ++i) x[i] = has ? *(global const float4*)(from + i * 16) : (float4)0.0f;
#pragma unroll
    for (uint g = 0; g < GROUPS; ++g) {
      float4 chains = m.chains[(t * GROUPS + g) * 32];
#pragma unroll
      for (uint i = 0; i < depth; ++i)
#pragma unroll
        for (uint j = 0; j < 4; ++j) chains[j] = __builtin_fmaf(w[i][g][j], x[i][j], chains[j]);
      m.chains[(t * GROUPS + g) * 32] = chains;
    }
  }
}

ZRT_INLINE void take_rows(const bool full, Matrix m) {
  uint at = 0;
#pragma unroll 1
  for (; at + 16 * DEPTH <= m.cols; at += 16 * DEPTH) take_columns(full, DEPTH, m, at, true);
#pragma unroll 1
  for (; at < m.cols; at += 16) take_columns(full, 1, m, at, at + lane_id() % 4 * 4 < m.cols);
}

/// `x` of the lane whose number differs in the second lowest bit.
ZRT_INLINE float second_neighbour(float x) {
  return bits_to_float(__builtin_amdgcn_update_dpp(0, float_to_bits(x), 0x4e, 0xf, 0xf, true));
}

/// dot16's tree: the lanes 8 further are two neighbours on, those 4 further one.
ZRT_INLINE float tree_of(float4 chains) {
#pragma unroll
  for (uint j = 0; j < 4; ++j) {
    chains[j] += second_neighbour(chains[j]);
    chains[j] += bits_to_float(neighbour(float_to_bits(chains[j])));
  }
  return (chains[0] + chains[2]) + (chains[1] + chains[3]);
}

ZRT_KERNEL(32)
matvec_f32(global const float* w, global const float* x, global const float* bias, global float* y, uint rows,
           uint cols, uint tokens) {
  local float4 chains[TOKENS * GROUPS * 32];
  const uint part = lane_id() % 4, row = lane_id() / 4;
  const Part here = part_of(group_x(), GROUPS * 8, rows), batch = part_of(group_y(), TOKENS, tokens);
  const Result result = result_of(bias, y, rows, here, batch);
  const Matrix m = {w + (ulong)here.first * cols + (row * cols + part * 4),
                    x + (ulong)batch.first * cols + part * 4,
                    cols,
                    row,
                    here.count,
                    batch.count,
                    chains + lane_id()};
#pragma unroll 1
  for (uint t = 0; t < batch.count; ++t)
#pragma unroll
    for (uint g = 0; g < GROUPS; ++g) m.chains[(t * GROUPS + g) * 32] = 0.0f;
  if (here.count == GROUPS * 8)
    take_rows(true, m);
  else
    take_rows(false, m);
#pragma unroll 1
  for (uint t = 0; t < batch.count; ++t) {
    // Each of the four lanes of a row writes one group's.
    float sum = tree_of(m.chains[t * GROUPS * 32]);
#pragma unroll
    for (uint g = 1; g < GROUPS; ++g) {
      const float next = tree_of(m.chains[(t * GROUPS + g) * 32]);
      sum = part == g ? next : sum;
    }
    put(result, part * 8 + row, t, sum);
  }
}
