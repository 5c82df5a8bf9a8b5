// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matmul.cl: a matrix of blocks times rounded activations on the matrix instructions, for prompt tokens.
//
// Matrix and activations are those of the matrix-vector kernels. Grid: (ceil(rows / 64), ceil(tokens / 64)). Each of the
// four waves of a workgroup computes sixteen rows for up to four tiles of sixteen tokens, 256 columns at a time; the
// activations come from local memory. Tiles are filled up with the last row and the last token again.
//
// Canonical: the order `blocks`. The matrix instructions give exact sums of runs of 16 in 32-bit integers; these become
// sums of blocks in integers, and the chain over blocks is one accumulator's, as in the matrix-vector kernels: a token
// gets the same bits from both.
#include "dot4.h"
#include "factors.h"
#include "floats4.h"
#include "pieces.h"
#include "tile.h"

#define WAVES 4
#define TILES 4
#define TOKENS (TILES * 16)
#define STEP 256
// In bytes; rows four banks apart.
#define PITCH (STEP + 16)

enum Type { q8_0, q4_0, mxfp4, q4_k, q5_k, q6_k };

typedef struct {
  global const char *q, *top, *factors;
  global const half* d;
  uint rows, cols;
} Matrix;

/// A step's activations, and of each wave's rows the scales: `d` of a block, or of a block in 256 the factors of its
/// runs; `minimum` are the negative offsets' scales. Rows lie as tile_place has them, so that a lane's are neighbours.
typedef struct {
  local char* x;           // [TOKENS][PITCH]
  local float* x_scales;   // [8][TOKENS], or [TOKENS] for K types
  local int* x_sums;       // [8][TOKENS]
  local float* d;          // [8][16], or [16]
  local float* minimum;    // [16]
  local int* factors;      // [16][16]
} Shared;

/// Whose two runs of a block are the low and the high halves of bytes.
ZRT_INLINE bool has_halves(const enum Type type) { return type == q4_0 || type == mxfp4; }
ZRT_INLINE bool has_offset(const enum Type type) { return type == q4_k || type == q5_k; }
ZRT_INLINE bool is_k(const enum Type type) { return has_offset(type) || type == q6_k; }

/// Loads the activations of a step; all lanes of the workgroup take part.
ZRT_INLINE void stage_activations(const enum Type type, Shared s, global const char* xq, global const float* xd,
                                  uint first, uint tokens, uint tiles, uint at, uint cols) {
  const uint lane = lane_id();
  for (uint i = 0; i < tiles * 2; ++i) {
    const uint unit = lane % 16, token = i * 8 + lane / 16;
    const uint from = first + token < tokens ? first + token : tokens - 1;
    const uint column = at + unit * 16;
    const uint4 x = column < cols ? *(global const uint4*)(xq + (ulong)from * cols + column) : (uint4)0;
    *(local uint4*)(s.x + token * PITCH + unit * 16) = x;
    if (has_offset(type)) {
      const int half_sum = sum_of(x);
      const int sum = half_sum + (int)neighbour((uint)half_sum);
      if (unit % 2 == 0) s.x_sums[unit / 2 * TOKENS + token] = sum;
    }
  }
  if (is_k(type)) {
    const uint from = first + lane < tokens ? first + lane : tokens - 1;
    if (lane < tiles * 16) s.x_scales[lane] = xd[(ulong)from * (cols / 256) + at / 256];
  } else {
    for (uint i = 0; i < tiles; ++i) {
      const uint block = lane % 8, token = i * 16 + lane / 8;
      const uint from = first + token < tokens ? first + token : tokens - 1;
      if (at + block * 32 < cols) s.x_scales[block * TOKENS + token] = xd[(ulong)from * (cols / 32) + at / 32 + block];
    }
  }
}

/// Loads the scales of this wave's rows from `first`.
ZRT_INLINE void stage_scales(const enum Type type, Shared s, Matrix m, uint first, uint at) {
  const uint lane = lane_id() % 32;
  if (!is_k(type)) {
    const uint block = lane % 8, blocks = m.cols / 32;
    for (uint row = lane / 8; row < 16; row += 4) {
      const uint from = first + row < m.rows ? first + row : m.rows - 1;
      if (at + block * 32 >= m.cols) continue;
      const ulong place = scale_place(from, at / 32 + block, blocks);
      s.d[block * 16 + tile_place(row)] =
          type == mxfp4 ? half_power(((global const uchar*)m.d)[place]) : (float)m.d[place];
    }
    return;
  }
  // Half of the wave takes scales, or those of runs 0 to 7; half takes offsets, or scales of runs 8 to 15.
  const uint upper = lane / 16, place = tile_place(lane % 16);
  const uint from = first + lane % 16 < m.rows ? first + lane % 16 : m.rows - 1;
  const ulong slot = piece_place(from, at / 256, m.cols / 256);
  if (has_offset(type)) {
    const uint4 head = *(global const uint4*)(m.factors + slot * 16);
    const half2 d = __builtin_astype(head.x, half2);
    const KFactors scales = scales_of(head), offsets = offsets_of(head);
    const uint low = upper == 0 ? scales.low : offsets.low, high = upper == 0 ? scales.high : offsets.high;
    for (uint i = 0; i < 8; ++i) s.factors[(upper * 8 + i) * 16 + place] = unsigned_byte(i < 4 ? low : high, i % 4);
    if (upper == 0)
      s.d[place] = (float)d.x;
    else
      s.minimum[place] = -(float)d.y;
  } else {
    const uint2 scales = *(global const uint2*)(m.factors + slot * 16 + upper * 8);
    for (uint i = 0; i < 8; ++i)
      s.factors[(upper * 8 + i) * 16 + place] = signed_byte(i < 4 ? scales.x : scales.y, i % 4);
    if (upper == 0) s.d[place] = (float)m.d[slot];
  }
}

/// The bytes of two runs of 16 columns. Of Q8_0 and the K types they are the runs of the 32 columns `part` of a step; of
/// Q4_0 and MXFP4, whose runs share bytes, they are those of two parts.
typedef struct {
  Words first, second;
} Pair;

ZRT_INLINE Words bytes_of(const enum Type type, Matrix m, uint row, uint at, uint part, uint which) {
  const uint offset = run_offset();
  // Columns that share a byte are 16 apart in Q4_0 and MXFP4, 32 in Q4_K and Q5_K and 64 in Q6_K.
  const uint piece = type == q8_0   ? at / 16 + part * 2 + which
                     : has_halves(type) ? at / 32 + part + which
                     : has_offset(type) ? at / 32 + part / 2 * 2 + which
                                        : at / 32 + part / 4 * 4 + part % 2 * 2 + which;
  return *(global const Words*)(m.q + (piece_place(row, piece, m.cols / (type == q8_0 ? 16 : 32)) * 16 + offset));
}

/// Both, or only the first where `parts` end before the second.
ZRT_INLINE Pair pair_of(const enum Type type, Matrix m, uint row, uint at, uint part, uint parts) {
  const bool both = !has_halves(type) || part + 1 < parts;
  Pair p;
#if defined(__GFX12__)
  p.first = p.second = bytes_of(type, m, row, at, part, 0);
  if (both) p.second = bytes_of(type, m, row, at, part, 1);
#else
  // Both halves of the wave need both: each loads one and they exchange them.
  const uint half_wave = lane_id() / 16 % 2;
  const Words mine = bytes_of(type, m, row, at, part, both ? half_wave : 0);
#pragma unroll
  for (uint i = 0; i < WORDS; ++i) {
    const uint other = other_half(mine[i]);
    p.first[i] = half_wave == 0 ? mine[i] : other;
    p.second[i] = half_wave == 0 ? other : mine[i];
  }
#endif
  return p;
}

/// The fifth bits of Q5_K of run `run` of each part of a step.
ZRT_INLINE Words fifth_of(Matrix m, uint row, uint at, uint run) {
  return *(global const Words*)(m.top + (piece_place(row, at / 128 + run, m.cols / 128) * 16 + run_offset()));
}

/// The run's weights as signed bytes, of Q6_K four times what they are.
ZRT_INLINE Words weights_of(const enum Type type, Matrix m, uint row, uint at, uint part, uint run, Words bytes,
                            Words fifth) {
  if (type == q8_0) return bytes;
  // A value less than 128 minus what it is too large, byte by byte: nothing is carried.
  if (type == q4_0) return (((bytes >> run * 4 & 0x0f0f0f0f) ^ 0x08080808) + 0x78787878) ^ 0x80808080;
  if (type == mxfp4) {
#pragma unroll
    for (uint i = 0; i < WORDS; ++i) bytes[i] = twice_floats(bytes[i] >> run * 4);
    return bytes;
  }
  if (type == q4_k) return bytes >> part % 2 * 4 & 0x0f0f0f0f;
  if (type == q5_k) return (bytes >> part % 2 * 4 & 0x0f0f0f0f) | (fifth >> part << 4 & 0x10101010);
  const uint piece = part / 4 * 4 + part % 2 * 2 + run, high = part / 2 % 2;
  const ulong place = piece_place(row, at / 64 + piece / 2, m.cols / 64);
  const uint top = *(global const uint*)(m.top + place * 16 + (piece % 2 * 8 + high * 4));
  Words pairs;
#pragma unroll
  for (uint i = 0; i < WORDS; ++i) pairs[i] = (top >> (run_offset() / 4 + i) * 2 & 0x03030303) << 6;
  return ((high == 0 ? bytes << 2 : bytes >> 2) & 0x3c3c3c3c) | pairs;
}

/// Goes on with `chain` by a sum of blocks times their scales.
ZRT_INLINE float8 chained(float8 scale, float x_scale, int8 sum, float8 chain) {
#pragma unroll
  for (uint e = 0; e < 8; ++e) {
    const float both = scale[e] * x_scale;
    chain[e] = __builtin_fmaf(both, (float)sum[e], chain[e]);
  }
  return chain;
}
ZRT_INLINE int8 weighted(int8 factors, int8 runs, int8 sum) {
#pragma unroll
  for (uint e = 0; e < 8; ++e) sum[e] += product24(factors[e], runs[e]);
  return sum;
}

/// One step of this wave's tiles.
ZRT_INLINE void take_step(const enum Type type, Shared s, Matrix m, uint row, uint at, uint tiles, float8* chains) {
  const uint column = lane_id() % 16, lanes_rows = lane_id() / 16 % 2 * 8;
  local const char* x = s.x + column * PITCH + run_offset();
  const uint parts = is_k(type) || m.cols - at >= STEP ? 8 : (m.cols - at) / 32;
  int8 sums[TILES], offsets[TILES];
#pragma unroll
  for (uint t = 0; t < TILES; ++t) sums[t] = offsets[t] = 0;
  Pair bytes, fifth;
  fifth.first = fifth.second = 0;
  if (type == q5_k) {
    fifth.first = fifth_of(m, row, at, 0);
    fifth.second = fifth_of(m, row, at, 1);
  }
#pragma unroll 1
  for (uint i = 0; i < parts; ++i) {
    // Two parts of a K type share their bytes, and so come one after the other; of Q6_K that is every second part.
    // Of Q4_0 and MXFP4 two parts are loaded together.
    const uint part = type == q6_k ? (i & 4) | (i & 1) << 1 | (i >> 1 & 1) : i;
    if (type == q8_0 || i % 2 == 0)
      bytes = pair_of(type, m, row, at, part, parts);
    else if (has_halves(type))
      bytes.first = bytes.second;
    const Words first = weights_of(type, m, row, at, part, 0, bytes.first, fifth.first);
    const Words of_second = has_halves(type) ? bytes.first : bytes.second;
    const Words second = weights_of(type, m, row, at, part, 1, of_second, fifth.second);
    const uint factor = type == q6_k ? part * 2 : part;
    const int8 first_factors = is_k(type) ? *(local const int8*)(s.factors + factor * 16 + lanes_rows) : (int8)0;
    const int8 second_factors =
        is_k(type) ? *(local const int8*)(s.factors + (type == q6_k ? factor + 1 : part + 8) * 16 + lanes_rows) : (int8)0;
#pragma unroll
    for (uint t = 0; t < TILES; ++t) {
      if (t >= tiles) break;
      local const char* columns = x + t * 16 * PITCH + part * 32;
      int8 runs = tile_product(first, *(local const Words*)columns, (int8)0);
      if (type == q6_k) {
        sums[t] = weighted(first_factors, runs, sums[t]);
        runs = tile_product(second, *(local const Words*)(columns + 16), (int8)0);
        sums[t] = weighted(second_factors, runs, sums[t]);
      } else {
        runs = tile_product(second, *(local const Words*)(columns + 16), runs);
      }
      if (has_offset(type)) {
        sums[t] = weighted(first_factors, runs, sums[t]);
        offsets[t] = weighted(second_factors, (int8)s.x_sums[part * TOKENS + t * 16 + column], offsets[t]);
      }
      if (!is_k(type))
        chains[t] = chained(*(local const float8*)(s.d + part * 16 + lanes_rows),
                            s.x_scales[part * TOKENS + t * 16 + column], runs, chains[t]);
    }
  }
  if (!is_k(type)) return;
#pragma unroll
  for (uint t = 0; t < TILES; ++t) {
    if (t >= tiles) break;
    const float x_scale = s.x_scales[t * 16 + column];
    if (type == q6_k) sums[t] >>= 2;
    chains[t] = chained(*(local const float8*)(s.d + lanes_rows), x_scale, sums[t], chains[t]);
    if (has_offset(type))
      chains[t] = chained(*(local const float8*)(s.minimum + lanes_rows), x_scale, offsets[t], chains[t]);
  }
}

ZRT_INLINE void matmul(const enum Type type, Shared s, Matrix m, global const char* xq, global const float* xd,
                       global const float* bias, global float* y, uint tokens) {
  const uint wave = __builtin_amdgcn_readfirstlane(lane_id() / 32);
  const uint first = (group_x() * WAVES + wave) * 16, first_token = group_y() * TOKENS;
  const uint tiles = tokens - first_token >= TOKENS ? TILES : (tokens - first_token + 15) / 16;
  const uint row = first + lane_id() % 16 < m.rows ? first + lane_id() % 16 : m.rows - 1;
  s.d += wave * 128;
  s.minimum += wave * 16;
  s.factors += wave * 256;
  float8 chains[TILES];
#pragma unroll
  for (uint t = 0; t < TILES; ++t) chains[t] = 0.0f;
#pragma unroll 1
  for (uint at = 0; at < m.cols; at += STEP) {
    stage_activations(type, s, xq, xd, first_token, tokens, tiles, at, m.cols);
    if (first < m.rows) stage_scales(type, s, m, first, at);
    meet();
    if (first < m.rows) take_step(type, s, m, row, at, tiles, chains);
    meet();
  }
#pragma unroll
  for (uint t = 0; t < TILES; ++t) {
    const uint token = first_token + t * 16 + lane_id() % 16;
    if (token >= tokens) continue;
#pragma unroll
    for (uint e = 0; e < 8; ++e) {
      const uint to = first + tile_row(e);
      if (to < m.rows) y[(ulong)token * m.rows + to] = bias == 0 ? chains[t][e] : chains[t][e] + bias[to];
    }
  }
}

#define ZRT_SHARED                                                                                                     \
  local char x[TOKENS * PITCH] __attribute__((aligned(16)));                                                           \
  local float x_scales[8 * TOKENS], d[WAVES * 128] __attribute__((aligned(32)));                                       \
  local int x_sums[8 * TOKENS], factors[WAVES * 256] __attribute__((aligned(32)));                                     \
  local float minimum[WAVES * 16] __attribute__((aligned(32)));                                                        \
  const Shared s = {x, x_scales, x_sums, d, minimum, factors};

#define ZRT_MATMUL_32(type)                                                                                            \
  ZRT_KERNEL(32 * WAVES)                                                                                               \
  matmul_##type(global const char* q, global const half* scales, global const char* xq, global const float* xd,        \
                global const float* bias, global float* y, uint rows, uint cols, uint tokens) {                        \
    ZRT_SHARED                                                                                                         \
    const Matrix m = {q, 0, 0, scales, rows, cols};                                                                    \
    matmul(type, s, m, xq, xd, bias, y, tokens);                                                                       \
  }
ZRT_MATMUL_32(q8_0)
ZRT_MATMUL_32(q4_0)
ZRT_MATMUL_32(mxfp4)

ZRT_KERNEL(32 * WAVES)
matmul_q4_k(global const char* q, global const char* head, global const char* xq, global const float* xd,
            global const float* bias, global float* y, uint rows, uint cols, uint tokens) {
  ZRT_SHARED
  const Matrix m = {q, 0, head, 0, rows, cols};
  matmul(q4_k, s, m, xq, xd, bias, y, tokens);
}

ZRT_KERNEL(32 * WAVES)
matmul_q5_k(global const char* q, global const char* top, global const char* head, global const char* xq,
            global const float* xd, global const float* bias, global float* y, uint rows, uint cols, uint tokens) {
  ZRT_SHARED
  const Matrix m = {q, top, head, 0, rows, cols};
  matmul(q5_k, s, m, xq, xd, bias, y, tokens);
}

ZRT_KERNEL(32 * WAVES)
matmul_q6_k(global const char* low, global const char* top, global const char* scales, global const half* block_scales,
            global const char* xq, global const float* xd, global const float* bias, global float* y, uint rows,
            uint cols, uint tokens) {
  ZRT_SHARED
  const Matrix m = {low, top, scales, block_scales, rows, cols};
  matmul(q6_k, s, m, xq, xd, bias, y, tokens);
}
