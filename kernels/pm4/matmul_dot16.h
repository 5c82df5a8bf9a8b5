// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matmul_dot16.h: a matrix of ELEMENT times activations of f32, for prompt tokens: the kernel NAME.
// WIDEN makes a weight a float.
//
// Weights as pieces.h says, a row whole pieces. Grid: (ceil(rows / 64), ceil(tokens / 64)). Each of the sixteen
// waves of a workgroup computes sixteen rows for sixteen tokens; weights and activations come from local memory, 64
// columns at a time, and are read once for the 64 tokens. Canonical: the order dot16, with its sixteen lanes in those of
// a half wave, which takes every second row. No matrix instruction has that order.
#include "pieces.h"

#define WAVES 16
#define SIDE 64
#define STEP 64
#define LOAD COLUMNS_OF(ELEMENT)
// In elements; rows next to each other begin half of the banks apart (f32) or a quarter (f16).
#define PITCH (STEP + 16)
#define X_PITCH (STEP + 4)

/// dot16's tree over the sixteen lanes of a half wave: every lane gets the sum, because an addition commutes.
#define ZRT_ACROSS(x, mask) bits_to_float(__builtin_amdgcn_update_dpp(0, float_to_bits(x), 0x160 + mask, 0xf, 0xf, true))
ZRT_INLINE float sum_of(float chain) {
  chain += ZRT_ACROSS(chain, 8);
  chain += ZRT_ACROSS(chain, 4);
  chain += ZRT_ACROSS(chain, 2);
  return chain + ZRT_ACROSS(chain, 1);
}

ZRT_KERNEL(32 * WAVES)
NAME(global const ELEMENT* w, global const float* x, global const float* bias, global float* y, uint rows, uint cols,
     uint tokens) {
  local ELEMENT weights[SIDE * PITCH] __attribute__((aligned(16)));
  local float activations[SIDE * X_PITCH] __attribute__((aligned(16)));
  const uint lane = lane_id(), wave = __builtin_amdgcn_readfirstlane(lane / 32);
  const uint first_row = group_x() * SIDE, first_token = group_y() * SIDE;
  // Of this wave in the tile.
  const uint row = wave % 4 * 16 + lane / 16 % 2, token = wave / 4 * 16, chain = lane % 16;
  const bool takes_part = first_row + wave % 4 * 16 < rows && first_token + token < tokens;
  float16 chains[8];
#pragma unroll
  for (uint r = 0; r < 8; ++r) chains[r] = 0.0f;
#pragma unroll 1
  for (uint at = 0; at < cols; at += STEP) {
    // Tiles are filled up with the last row and the last token again, steps with weights of 0 and activations of -0: their
    // products change no chain.
#pragma unroll
    for (uint i = 0; i < SIDE * STEP / LOAD; i += 32 * WAVES) {
      const uint to = (i + lane) % SIDE, column = (i + lane) / SIDE * LOAD;
      const uint from = first_row + to < rows ? first_row + to : rows - 1;
      *(local uint4*)(weights + to * PITCH + column) =
          at + column < cols ? *(global const uint4*)(w + value_place(LOAD, from, at + column, cols)) : (uint4)0;
    }
#pragma unroll
    for (uint i = 0; i < SIDE * STEP / 4; i += 32 * WAVES) {
      const uint to = (i + lane) / (STEP / 4), column = (i + lane) % (STEP / 4) * 4;
      const uint from = first_token + to < tokens ? first_token + to : tokens - 1;
      *(local uint4*)(activations + to * X_PITCH + column) =
          at + column < cols ? *(global const uint4*)(x + (ulong)from * cols + at + column) : (uint4)0x80000000u;
    }
    meet();
    if (takes_part)
#pragma unroll 1
      for (uint i = chain; i < STEP; i += 16) {
        float weight[8];
#pragma unroll
        for (uint r = 0; r < 8; ++r) {
          weight[r] = WIDEN(weights[(row + r * 2) * PITCH + i]);
          // Widened once: a multiply-add that widens by itself is no half of a dual instruction.
          __asm("" : "+v"(weight[r]));
        }
#pragma unroll
        for (uint t = 0; t < 16; ++t) {
          const float value = activations[(token + t) * X_PITCH + i];
#pragma unroll
          for (uint r = 0; r < 8; ++r) chains[r][t] = __builtin_fmaf(weight[r], value, chains[r][t]);
        }
      }
    meet();
  }
  if (!takes_part) return;
  y += (ulong)(first_token + token + chain) * rows;
#pragma unroll
  for (uint r = 0; r < 8; ++r) {
    float sum = 0.0f;
    // The lane of a token's number writes its sum.
#pragma unroll
    for (uint t = 0; t < 16; ++t) {
      const float next = sum_of(chains[r][t]);
      sum = t == chain ? next : sum;
    }
    const uint to = first_row + row + r * 2;
    if (to < rows && first_token + token + chain < tokens) y[to] = bias == 0 ? sum : sum + bias[to];
  }
}
