// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_f16.cl: a matrix of f16 times activations of f32, for generated tokens.
//
// Weights [rows][cols], cols a multiple of 8. Grid: (ceil(rows / 16), tokens). One wave computes sixteen rows, 256
// columns of each at a time: a load takes 512 contiguous bytes of a row, and each weight byte is read once. Canonical:
// the order dot16, whose lanes are eight registers of two neighbours; the way there is through local memory.
#include "place.h"

#define ROWS 16
#define STEP 256
// In halves. Rows eight banks apart, so that the two lanes of four rows meet no conflict.
#define PITCH (STEP + 16)

/// Copies a step of a row to local memory, zeros behind the row's end.
ZRT_INLINE void stage_row(global const half* w, uint at, uint cols, local half* to) {
  const uint i = lane_id() * 8;
  *(local uint4*)(to + i) = at + i < cols ? *(global const uint4*)(w + at + i) : (uint4)0;
}

ZRT_KERNEL(32)
matvec_f16(global const half* w, global const float* x, global const float* bias, global float* y, uint rows,
           uint cols) {
  local half staged[ROWS * PITCH] __attribute__((aligned(16)));
  local float activations[STEP] __attribute__((aligned(16)));
  const uint lane = lane_id(), first = group_x() * ROWS;
  const uint count = rows - first < ROWS ? rows - first : ROWS;
  x += (ulong)group_y() * cols;
  w += (ulong)first * cols;
  float8 chains = 0.0f;
  for (uint at = 0; at < cols; at += STEP) {
    // Whole steps of a whole group without branches between, so that all their loads are under way at once.
    if (count == ROWS && at + STEP <= cols) {
      *(local float4*)(activations + lane * 4) = *(global const float4*)(x + at + lane * 4);
      *(local float4*)(activations + STEP / 2 + lane * 4) = *(global const float4*)(x + at + STEP / 2 + lane * 4);
      // In bytes, of 32 bits: then a row is a scalar address and the lanes share one offset.
      const uint offset = (at + lane * 8) * 2;
      uint4 loaded[ROWS];
#pragma unroll
      for (uint r = 0; r < ROWS; ++r) {
        global const char* row = (global const char*)(w + (ulong)r * cols);
        // Keeps the compiler from adding rows up in vector registers.
        __asm("" : "+s"(row));
        loaded[r] = *(global const uint4*)(row + offset);
      }
#pragma unroll
      for (uint r = 0; r < ROWS; ++r) *(local uint4*)(staged + r * PITCH + lane * 8) = loaded[r];
    } else {
      for (uint i = lane * 4; i < STEP; i += 128)
        *(local float4*)(activations + i) = at + i < cols ? *(global const float4*)(x + at + i) : (float4)0.0f;
#pragma unroll 1
      for (uint r = 0; r < count; ++r) stage_row(w + (ulong)r * cols, at, cols, staged + r * PITCH);
    }
    meet();
    local const half* row = staged + lane / 2 * PITCH + lane % 2 * 8;
    local const float* part = activations + lane % 2 * 8;
#pragma unroll
    for (uint i = 0; i < STEP; i += 16) {
      const half8 weight = *(local const half8*)(row + i);
      const float4 low = *(local const float4*)(part + i), high = *(local const float4*)(part + i + 4);
#pragma unroll
      for (uint j = 0; j < 4; ++j) {
        chains[j] = __builtin_fmaf((float)weight[j], low[j], chains[j]);
        chains[j + 4] = __builtin_fmaf((float)weight[j + 4], high[j], chains[j + 4]);
      }
    }
    meet();
  }
  // dot16's tree: the neighbour has the chains 8 further.
#pragma unroll
  for (uint j = 0; j < 8; ++j) chains[j] += bits_to_float(neighbour(float_to_bits(chains[j])));
  const float sum = ((chains[0] + chains[4]) + (chains[2] + chains[6])) +
                    ((chains[1] + chains[5]) + (chains[3] + chains[7]));
  const uint r = lane / 2;
  if (lane % 2 == 0 && r < count) y[(ulong)group_y() * rows + first + r] = bias == 0 ? sum : sum + bias[first + r];
}
