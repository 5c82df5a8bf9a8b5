// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_q6_k.cl: a Q6_K matrix times rounded activations, for generated tokens.
//
// The matrix is upload/q6_k.hpp's: low [rows][blocks][128], top [rows][blocks][64],
// scales [ceil(rows / 8)][blocks][8][16] and d [ceil(rows / 8)][blocks][8]. Activations are as in matvec_q4_k.cl.
//
// Grid: (ceil(rows / 32), ceil(tokens / 8)). Each weight byte is read once. Canonical: the order `blocks`. The 32 that
// each value is too large is taken off once for each run: exact in integers.
#include "blocks_k.h"

// Blocks of a row whose scales in f16 are in local memory at once: those of a block alone lie in too few bytes.
#define PANEL 64

typedef struct {
  global const char *low, *top;  // of the wave's first row
  global const uint4* scales;
  global const half* d;
  global const char* xq;  // of its first token
  global const float* xd;
  uint blocks, rows, tokens;
} Matrix;

typedef struct {
  local int* sums;
  local half* d;        // [ROWS / 8][blocks of the panel][8]
  local float* chains;  // [TOKENS][ROWS]
} Shared;

/// The exact sum of a block's sixteen runs times their scales.
ZRT_INLINE int sum_of_runs(local const int* sums, uint4 scales) {
  int sum = 0;
#pragma unroll
  for (uint lanes = 0; lanes < 8; lanes += 2) {
    // Four lanes have half of the block: lane i of them run i in the low halves and run i + 4 in the high ones.
    const int4 runs = *(local const int4*)(sums + lanes * 2);
    const uint low_scales = scales[lanes / 4 * 2], high_scales = scales[lanes / 4 * 2 + 1];
    sum += product24(signed_byte(low_scales, lanes % 4), runs.x);
    sum += product24(signed_byte(high_scales, lanes % 4), runs.y);
    sum += product24(signed_byte(low_scales, lanes % 4 + 1), runs.z);
    sum += product24(signed_byte(high_scales, lanes % 4 + 1), runs.w);
  }
  return sum;
}

/// Copies the scales of `width` blocks from `at` of each group of eight rows, of which a group has `all`; the groups follow
/// each other, in both places.
ZRT_INLINE void stage_scales(local half* to, global const half* d, uint groups, uint all, uint at, uint width) {
  const uint lane = lane_id();
  meet();
  if (width == all) {
#pragma unroll 1
    for (uint i = lane; i < groups * width * 4; i += 32) ((local uint*)to)[i] = ((global const uint*)d)[i];
  } else {
#pragma unroll 1
    for (uint g = 0; g < groups; ++g)
#pragma unroll 1
      for (uint i = lane; i < width * 8; i += 32) to[g * width * 8 + i] = d[((ulong)g * all + at) * 8 + i];
  }
  meet();
}

/// Goes on with the chains over `width` blocks from `at`.
ZRT_INLINE void take_panel(const bool full, Matrix m, uint at, uint width, Shared shared) {
  const uint lane = lane_id(), k = lane % 8;
  const uint half_mask = 0x0f0f0f0f, pair_mask = 0x30303030;
#pragma unroll 1
  for (uint b = at; b < at + width; ++b) {
    const uint rows = m.blocks * (4 * 64), offset = (lane / 8 * m.blocks + b) * 64 + k * 8;
    uint4 low[LOADS];
    uint2 top[LOADS];
#pragma unroll
    for (uint i = 0; i < LOADS; ++i) {
      const bool has = full || i * 4 + lane / 8 < m.rows;
      low[i] = has ? *(global const uint4*)(m.low + (offset + i * rows) * 2) : (uint4)0;
      top[i] = has ? *(global const uint2*)(m.top + offset + i * rows) : (uint2)0;
    }
    const uint4 scales = full || lane < m.rows ? m.scales[(lane / 8 * m.blocks + b) * 8 + k] : (uint4)0;
    const float d = (float)shared.d[(lane / 8 * width + b - at) * 8 + k];
#pragma unroll 1
    for (uint t = 0; t < m.tokens; ++t) {
      global const char* x = m.xq + (t * m.blocks + b) * 256;
      ZRT_UNIFORM(x);
      const uint from = k / 4 * 128 + k / 2 % 2 * 32 + k % 2 * 16;
      const uint4 x_low = *(global const uint4*)(x + from), x_high = *(global const uint4*)(x + from + 64);
      // Products with bytes of -32.
      const int low_excess = dot_of((uint4)0xe0e0e0e0, x_low, 0), high_excess = dot_of((uint4)0xe0e0e0e0, x_high, 0);
#pragma unroll
      for (uint i = 0; i < LOADS; ++i) {
        const uint4 low_top = {top[i].x << 4, top[i].x << 2, top[i].x, top[i].x >> 2};
        const uint4 high_top = {top[i].y << 4, top[i].y << 2, top[i].y, top[i].y >> 2};
        const int2 sum = {dot_of((low[i] & half_mask) | (low_top & pair_mask), x_low, low_excess),
                          dot_of((low[i] >> 4 & half_mask) | (high_top & pair_mask), x_high, high_excess)};
        *(local int2*)(shared.sums + (i * 4 + lane / 8) * PITCH + k * 2) = sum;
      }
      meet();
      const float scale = d * m.xd[t * m.blocks + b];
      const int sum = sum_of_runs(shared.sums + lane * PITCH, scales);
      const float chain = b == 0 ? 0.0f : shared.chains[t * ROWS + lane];
      shared.chains[t * ROWS + lane] = __builtin_fmaf(scale, (float)sum, chain);
      meet();
    }
  }
}

/// The chains of a wave's rows, of which there are 32 where `full`.
ZRT_INLINE void take_rows(const bool full, Matrix m, Shared shared) {
  // Of rows that are filled up to whole groups of eight.
  const uint groups = full ? ROWS / 8 : (m.rows + 7) / 8;
#pragma unroll 1
  for (uint at = 0; at < m.blocks; at += PANEL) {
    const uint width = least(m.blocks - at, PANEL);
    stage_scales(shared.d, m.d, groups, m.blocks, at, width);
    take_panel(full, m, at, width, shared);
  }
}

ZRT_KERNEL(32)
matvec_q6_k(global const char* low, global const char* top, global const uint4* scales, global const half* d,
            global const char* xq, global const float* xd, global const float* bias, global float* y, uint rows,
            uint cols, uint tokens) {
  local int sums[ROWS * PITCH] __attribute__((aligned(16)));
  local half panel[ROWS * PANEL] __attribute__((aligned(16)));
  local float chains[TOKENS * ROWS];
  const Part here = part_of(group_x(), ROWS, rows), batch = part_of(group_y(), TOKENS, tokens);
  const Result result = result_of(bias, y, rows, here, batch);
  const uint blocks = cols / 256;
  const ulong before = (ulong)here.first * blocks;
  const Matrix m = {low + before * 128, top + before * 64, scales + before, d + before,
                    xq + (ulong)batch.first * cols, xd + (ulong)batch.first * blocks, blocks, here.count, batch.count};
  const Shared shared = {sums, panel, chains};
  if (here.count == ROWS)
    take_rows(true, m, shared);
  else
    take_rows(false, m, shared);
  put_rows(result, chains);
}
