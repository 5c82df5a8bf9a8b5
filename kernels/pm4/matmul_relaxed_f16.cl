// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matmul_relaxed_f16.cl: a matrix of f16 times activations of f32 on the matrix instructions.
//
// For prompt tokens where bits other than a generated token's are accepted.
//
// Weights [rows][cols], cols a multiple of 8. Activations are split_activation_f16's: high, low [tokens][cols] and
// scale [tokens]. Grid: (ceil(rows / 64), ceil(tokens / 64)); four waves of sixteen rows for up to four tiles of sixteen
// tokens, 64 columns at a time. Relaxed: the instruction adds up in an order of its own; a token's sum is the same
// whatever else is in the batch.
#include "tile.h"

#define WAVES 4
#define TILES 4
#define TOKENS (TILES * 16)
#define STEP 64
// In halves; rows four banks apart.
#define PITCH (STEP + 8)

/// Loads a step of one part of the activations, zeros behind the row's end; all lanes of the workgroup take part.
ZRT_INLINE void stage(local half* to, global const half* x, uint first, uint tokens, uint tiles, uint at, uint cols) {
  for (uint i = 0; i < tiles; ++i) {
    const uint unit = lane_id() % 8, token = i * 16 + lane_id() / 8;
    const uint from = first + token < tokens ? first + token : tokens - 1;
    const uint column = at + unit * 8;
    *(local uint4*)(to + token * PITCH + unit * 8) =
        column < cols ? *(global const uint4*)(x + (ulong)from * cols + column) : (uint4)0;
  }
}

ZRT_INLINE half8 weights_at(global const half* row, uint column, uint cols) {
  return column < cols ? *(global const half8*)(row + column) : (half8)0;
}
#if defined(__GFX12__)
ZRT_INLINE Halves weights_of(global const half* row, uint column, uint cols) {
  return weights_at(row, column + run_offset(), cols);
}
ZRT_INLINE Halves activations_of(local const half* x) { return *(local const half8*)(x + run_offset()); }
#else
ZRT_INLINE Halves weights_of(global const half* row, uint column, uint cols) {
  return (half16)(weights_at(row, column, cols), weights_at(row, column + 8, cols));
}
ZRT_INLINE Halves activations_of(local const half* x) {
  return (half16)(*(local const half8*)x, *(local const half8*)(x + 8));
}
#endif

ZRT_KERNEL(32 * WAVES)
matmul_relaxed_f16(global const half* w, global const half* high, global const half* low, global const float* scale,
           global const float* bias, global float* y, uint rows, uint cols, uint tokens) {
  local half high_step[TOKENS * PITCH] __attribute__((aligned(16)));
  local half low_step[TOKENS * PITCH] __attribute__((aligned(16)));
  const uint wave = __builtin_amdgcn_readfirstlane(lane_id() / 32), column = lane_id() % 16;
  const uint first = (group_x() * WAVES + wave) * 16, first_token = group_y() * TOKENS;
  const uint tiles = tokens - first_token >= TOKENS ? TILES : (tokens - first_token + 15) / 16;
  const uint row = first + lane_id() % 16 < rows ? first + lane_id() % 16 : rows - 1;
  w += (ulong)row * cols;
  float8 sums[TILES];
#pragma unroll
  for (uint t = 0; t < TILES; ++t) sums[t] = 0.0f;
#pragma unroll 1
  for (uint at = 0; at < cols; at += STEP) {
    stage(high_step, high, first_token, tokens, tiles, at, cols);
    stage(low_step, low, first_token, tokens, tiles, at, cols);
    meet();
    if (first < rows)
#pragma unroll 1
      for (uint run = 0; run < STEP; run += 16) {
        const Halves weights = weights_of(w, at + run, cols);
#pragma unroll
        for (uint t = 0; t < TILES; ++t) {
          if (t >= tiles) break;
          const uint place = (t * 16 + column) * PITCH + run;
          sums[t] = half_product(weights, activations_of(low_step + place), sums[t]);
          sums[t] = half_product(weights, activations_of(high_step + place), sums[t]);
        }
      }
    meet();
  }
#pragma unroll
  for (uint t = 0; t < TILES; ++t) {
    const uint token = first_token + t * 16 + column;
    if (token >= tokens) continue;
    const float x_scale = scale[token];
#pragma unroll
    for (uint e = 0; e < 8; ++e) {
      const uint to = first + tile_row(e);
      const float sum = sums[t][e] * x_scale;
      if (to < rows) y[(ulong)token * rows + to] = bias == 0 ? sum : sum + bias[to];
    }
  }
}
