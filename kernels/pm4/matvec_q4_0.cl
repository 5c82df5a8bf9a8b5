// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_q4_0.cl: a Q4_0 matrix times rounded activations, for generated tokens.
//
// The matrix lies in two parts: q, the 16 bytes of each block as the file has them [rows][cols / 2], and d, the scales
// in f16 [rows][cols / 32]. Activations are as in matvec_q8_0.cl.
//
// Grid: (ceil(rows / 8), tokens). As matvec_q8_0, but a lane loads whole blocks: 512 contiguous bytes of a row are its
// 1024 columns. The 8 that each half byte is too large is taken off once for each block: exact in integers.
#include "blocks.h"

typedef struct {
  uint4 low, high;  // the activations of the lower and of the upper halves of the bytes
  int excess;       // 8 times their sum
  float scale;
} Activation;

typedef struct {
  uint4 halves;
  half scale;
} Weights;

ZRT_INLINE Activation activation_at(global const char* xq, global const float* xd, uint block, bool has) {
  Activation x;
  x.low = has ? *(global const uint4*)(xq + block * 32) : (uint4)0;
  x.high = has ? *(global const uint4*)(xq + block * 32 + 16) : (uint4)0;
  x.excess = dot_of((uint4)0x08080808, x.high, dot_of((uint4)0x08080808, x.low, 0));
  x.scale = has ? xd[block] : 0.0f;
  return x;
}

ZRT_INLINE Weights load_row(global const char* q, global const half* d, uint block) {
  Weights w;
  w.halves = *(global const uint4*)(q + block * 16);
  w.scale = d[block];
  return w;
}

ZRT_INLINE void take_row(Weights w, Activation x, bool has, local float* sums, local float* scales) {
  const uint4 mask = 0x0f0f0f0f;
  const int sum = dot_of(w.halves >> 4 & mask, x.high, dot_of(w.halves & mask, x.low, -x.excess));
  sums[lane_id()] = (float)sum;
  scales[lane_id()] = has ? (float)w.scale * x.scale : 0.0f;
}

ZRT_KERNEL(32)
matvec_q4_0(global const char* q, global const half* d, global const char* xq, global const float* xd,
            global const float* bias, global float* y, uint rows, uint cols) {
  local float sums[ROWS * PITCH] __attribute__((aligned(16))), scales[ROWS * PITCH] __attribute__((aligned(16)));
  const uint lane = lane_id(), first = group_x() * ROWS, blocks = cols / 32;
  const uint count = rows - first < ROWS ? rows - first : ROWS;
  xq += (ulong)group_y() * cols;
  xd += (ulong)group_y() * blocks;
  q += (ulong)first * blocks * 16;
  d += (ulong)first * blocks;
  float chain = 0.0f;
  for (uint at = 0; at < blocks; at += BLOCKS) {
    // Lanes behind the row's end load a block again that is at hand.
    const bool has = at + lane < blocks;
    const uint block = has ? at + lane : at;
    const Activation x = activation_at(xq, xd, block, has);
    if (count == ROWS) {
      Weights w[ROWS];
#pragma unroll
      for (uint r = 0; r < ROWS; ++r) w[r] = load_row(q + (ulong)r * blocks * 16, d + (ulong)r * blocks, block);
#pragma unroll
      for (uint r = 0; r < ROWS; ++r) take_row(w[r], x, has, sums + r * PITCH, scales + r * PITCH);
    } else {
#pragma unroll 1
      for (uint r = 0; r < count; ++r)
        take_row(load_row(q + (ulong)r * blocks * 16, d + (ulong)r * blocks, block), x, has, sums + r * PITCH,
                 scales + r * PITCH);
    }
    meet();
    chain = chain_over(sums, scales, chain);
    meet();
  }
  if (lane < count) y[(ulong)group_y() * rows + first + lane] = bias == 0 ? chain : chain + bias[first + lane];
}
