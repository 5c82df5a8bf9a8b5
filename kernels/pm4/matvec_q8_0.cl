// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_q8_0.cl: a Q8_0 matrix times rounded activations, for generated tokens.
//
// The matrix lies in two parts, so that loads are whole and aligned: q, the signed bytes [rows][cols], and d, the
// scales in f16 [rows][cols / 32]. Activations are round_activation_q8_32's: xq [tokens][cols], xd [tokens][cols / 32].
//
// Grid: (ceil(rows / 8), tokens). One wave computes eight rows, 1024 columns of each at a time: a load takes 512
// contiguous bytes of a row, two lanes share a block, and each weight byte is read once. Canonical: the order `blocks`.
// Sums of blocks are exact and come from all lanes; the chain over blocks is one lane's for each row, which takes them
// from local memory.
#include "blocks.h"

/// Where this lane loads in a step of a row. Lanes behind the row's end load its beginning again, which is at hand, and
/// have activations of 0.
typedef struct {
  uint first, second, scale;
  bool has_first, has_second, has_scale;
} Place;

typedef struct {
  uint4 first, second;
  float scale;
} Activation;

/// What a lane loads of a row: its halves of two blocks, and the scale of one.
typedef struct {
  uint4 first, second;
  half scale;
} Weights;

ZRT_INLINE Place place_at(uint at, uint cols) {
  const uint first = at + lane_id() * 16, second = first + STEP / 2, block = at + lane_id() * 32;
  Place p;
  p.has_first = first < cols;
  p.has_second = second < cols;
  p.has_scale = block < cols;
  p.first = p.has_first ? first : at;
  p.second = p.has_second ? second : at;
  p.scale = (p.has_scale ? block : at) / 32;
  return p;
}

ZRT_INLINE Activation activation_at(global const char* xq, global const float* xd, Place p) {
  Activation x;
  x.first = p.has_first ? *(global const uint4*)(xq + p.first) : (uint4)0;
  x.second = p.has_second ? *(global const uint4*)(xq + p.second) : (uint4)0;
  x.scale = p.has_scale ? xd[p.scale] : 0.0f;
  return x;
}

ZRT_INLINE Weights load_row(global const char* q, global const half* d, Place p) {
  Weights w;
  w.first = *(global const uint4*)(q + p.first);
  w.second = *(global const uint4*)(q + p.second);
  w.scale = d[p.scale];
  return w;
}

/// Leaves sum and scale of the 32 blocks of a step. Even lanes keep the block of the first half that they share with
/// their neighbour, odd lanes that of the second.
ZRT_INLINE void take_row(Weights w, Activation x, Place p, local float* sums, local float* scales) {
  const uint lane = lane_id();
  const int first = dot_of(w.first, x.first, 0), second = dot_of(w.second, x.second, 0);
  const bool odd = (lane & 1) != 0;
  const int sum = (odd ? second : first) + (int)neighbour((uint)(odd ? first : second));
  sums[lane / 2 + (odd ? BLOCKS / 2 : 0)] = (float)sum;
  scales[lane] = p.has_scale ? (float)w.scale * x.scale : 0.0f;
}

ZRT_KERNEL(32)
matvec_q8_0(global const char* q, global const half* d, global const char* xq, global const float* xd,
            global const float* bias, global float* y, uint rows, uint cols) {
  local float sums[ROWS * PITCH] __attribute__((aligned(16))), scales[ROWS * PITCH] __attribute__((aligned(16)));
  const uint lane = lane_id(), first = group_x() * ROWS;
  const uint count = rows - first < ROWS ? rows - first : ROWS;
  xq += (ulong)group_y() * cols;
  xd += (ulong)group_y() * (cols / 32);
  q += (ulong)first * cols;
  d += (ulong)first * (cols / 32);
  float chain = 0.0f;
  for (uint at = 0; at < cols; at += STEP) {
    const Place p = place_at(at, cols);
    const Activation x = activation_at(xq, xd, p);
    // A whole group without branches between, so that all loads of a step are under way at once.
    if (count == ROWS) {
      Weights w[ROWS];
#pragma unroll
      for (uint r = 0; r < ROWS; ++r) w[r] = load_row(q + (ulong)r * cols, d + (ulong)r * (cols / 32), p);
#pragma unroll
      for (uint r = 0; r < ROWS; ++r) take_row(w[r], x, p, sums + r * PITCH, scales + r * PITCH);
    } else {
#pragma unroll 1
      for (uint r = 0; r < count; ++r)
        take_row(load_row(q + (ulong)r * cols, d + (ulong)r * (cols / 32), p), x, p, sums + r * PITCH,
                 scales + r * PITCH);
    }
    meet();
    chain = chain_over(sums, scales, chain);
    meet();
  }
  if (lane < count) y[(ulong)group_y() * rows + first + lane] = bias == 0 ? chain : chain + bias[first + lane];
}
