// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_f32.cl: a matrix of f32 times activations of f32, for generated tokens.
//
// Weights [rows][cols], cols a multiple of 4. Grid: (ceil(rows / 16), tokens). One wave computes sixteen rows, 16 columns
// of each at a time: a load takes 64 contiguous bytes of each of eight rows, and each weight byte is read once.
// Canonical: the order dot16; four neighbours have the sixteen lanes of a row, four each.
#include "place.h"

#define ROWS 16
// Steps whose loads are under way at once.
#define DEPTH 4

/// Goes on with the chains of rows r and r + 8 over the columns from `at`.
ZRT_INLINE void take_columns(global const float* low, global const float* high, global const float* x, uint at,
                             float4* low_chains, float4* high_chains) {
  const float4 a = *(global const float4*)(low + at), b = *(global const float4*)(high + at);
  const float4 v = *(global const float4*)(x + at);
#pragma unroll
  for (uint j = 0; j < 4; ++j) {
    (*low_chains)[j] = __builtin_fmaf(a[j], v[j], (*low_chains)[j]);
    (*high_chains)[j] = __builtin_fmaf(b[j], v[j], (*high_chains)[j]);
  }
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
           uint cols) {
  const uint part = lane_id() % 4, row = lane_id() / 4, first = group_x() * ROWS;
  const uint count = rows - first < ROWS ? rows - first : ROWS;
  // Lanes of rows behind the last one take that again, which is at hand.
  const uint low_row = row < count ? row : count - 1, high_row = row + 8 < count ? row + 8 : count - 1;
  w += (ulong)first * cols + part * 4;
  x += (ulong)group_y() * cols + part * 4;
  global const float *low = w + (ulong)low_row * cols, *high = w + (ulong)high_row * cols;
  float4 low_chains = 0.0f, high_chains = 0.0f;
  uint at = 0;
  for (; at + 16 * DEPTH <= cols; at += 16 * DEPTH)
#pragma unroll
    for (uint i = 0; i < DEPTH; ++i) take_columns(low, high, x, at + i * 16, &low_chains, &high_chains);
#pragma unroll 1
  for (; at + part * 4 < cols; at += 16) take_columns(low, high, x, at, &low_chains, &high_chains);
  const float low_sum = tree_of(low_chains), high_sum = tree_of(high_chains);
  y += (ulong)group_y() * rows + first;
  if (part == 0 && row < count) y[row] = bias == 0 ? low_sum : low_sum + bias[first + row];
  if (part == 0 && row + 8 < count) y[row + 8] = bias == 0 ? high_sum : high_sum + bias[first + row + 8];
}
