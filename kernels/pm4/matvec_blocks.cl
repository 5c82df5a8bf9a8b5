// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_blocks.cl: a Q8_0 or Q4_0 matrix times rounded activations, for generated tokens.
//
// The matrix lies in two parts, so that loads are whole and aligned: q, 32 signed bytes or 16 bytes of halves of each
// block, placed as units.h says, and d, the scales in f16 [rows][cols / 32]. Activations are
// round_activation_q8_32's: xq [tokens][cols], xd [tokens][cols / 32].
//
// Grid: (ceil(rows / R), ceil(tokens / 8)), R being 32 for narrow rows, below 2048 columns, so that a wave has enough to
// do, and else 16. A wave loads its weights once and multiplies them with up to eight tokens. Eight rows are a group;
// four neighbours share one of its rows, so that a load takes one unit of all of them.
//
// Canonical: the order `blocks`. Sums of blocks are exact; the chain over a row's blocks is that of its four lanes, which
// have it in step and exchange the sums. Only the weights' scales, which lie too close for lanes that share rows, and a
// token's chains between steps go through local memory.
#include "dot4.h"
#include "rows.h"
#include "units.h"

#define NARROW 2048
#define TOKENS 8
#define GROUPS 4
// Blocks of a row whose scales are in local memory at once.
#define PANEL 128

enum Type { q8_0, q4_0 };

typedef struct {
  global const char* q;   // of the wave's first row
  global const half* d;
  global const char* xq;  // of its first token
  global const float* xd;
  uint cols, tokens;
  local half* scales;
  local float4* chains;  // of this lane, those of the next token 32 further
} Matrix;

/// `x` of lane `i` of this lane's four.
ZRT_INLINE int of_four(int x, const uint i) {
  if (i == 0) return __builtin_amdgcn_update_dpp(0, x, 0x00, 0xf, 0xf, true);
  if (i == 1) return __builtin_amdgcn_update_dpp(0, x, 0x55, 0xf, 0xf, true);
  if (i == 2) return __builtin_amdgcn_update_dpp(0, x, 0xaa, 0xf, 0xf, true);
  return __builtin_amdgcn_update_dpp(0, x, 0xff, 0xf, 0xf, true);
}

/// This lane's part of a step of a token: 16 columns of half a block, or a block's lower and upper halves and what
/// bytes of -8, which each value is too large by, add up to.
typedef struct {
  uint4 low, high;
  int excess;
} Activation;

ZRT_INLINE Activation activation_at(const enum Type type, global const char* x, uint column, bool has) {
  Activation a = {0, 0, 0};
  if (has) a.low = *(global const uint4*)(x + column);
  if (type == q8_0) return a;
  if (has) a.high = *(global const uint4*)(x + column + 16);
  a.excess = dot_of((uint4)0xf8f8f8f8, a.high, dot_of((uint4)0xf8f8f8f8, a.low, 0));
  return a;
}

/// The exact sum of the block that this lane has a part of.
ZRT_INLINE int block_sum(const enum Type type, uint4 w, Activation a) {
  if (type == q4_0) return dot_of(w >> 4 & 0x0f0f0f0f, a.high, dot_of(w & 0x0f0f0f0f, a.low, a.excess));
  const int half_sum = dot_of(w, a.low, 0);
  return half_sum + (int)neighbour((uint)half_sum);
}

/// Goes on with the chains of `groups` groups over `steps` steps from block `block`. A step is `blocks` blocks of each
/// row, at most two of Q8_0 and four of Q4_0: lanes behind them have no weights. The scales are at `scales` for this
/// lane's row of the first group, those of the next group 8 * `pitch` behind.
ZRT_INLINE void take_blocks(const enum Type type, const uint groups, const uint steps, const uint blocks, Matrix m,
                            uint block, local const half* scales, uint pitch) {
  const uint lanes = type == q8_0 ? 2 : 1, lane = lane_id() % 4;
  const uint bytes = type == q8_0 ? m.cols : m.cols / 2, block_bytes = type == q8_0 ? 32 : 16;
  const bool has = lane < blocks * lanes;
  uint offset = lane_id() * 16;
  if (blocks * lanes < 4) {
    // Only where rows end so: not once for all.
    __asm("" : "+v"(offset) : "s"(block));
    offset = offset / 64 * (blocks * block_bytes) + lane * 16;
  }
  uint4 w[4][GROUPS];
#pragma unroll
  for (uint g = 0; g < groups; ++g) {
    global const char* q = m.q + (ulong)g * 8 * bytes + block * (block_bytes * 8);
    ZRT_UNIFORM(q);
#pragma unroll
    for (uint i = 0; i < steps; ++i)
      w[i][g] = has ? *(global const uint4*)(q + offset + i * 512) : (uint4)0;
  }
#pragma unroll 1
  for (uint t = 0; t < m.tokens; ++t) {
    global const char* xq = m.xq + t * m.cols + block * 32;
    global const float* xd = m.xd + t * (m.cols / 32) + block;
    ZRT_UNIFORM(xq);
    float4 chain = block == 0 ? (float4)0.0f : m.chains[t * 32];
#pragma unroll
    for (uint i = 0; i < steps; ++i) {
      const Activation x = activation_at(type, xq, lane * (32 / lanes) + i * (4 / lanes) * 32, has);
#pragma unroll
      for (uint g = 0; g < groups; ++g) {
        const int sum = block_sum(type, w[i][g], x);
        local const half* d = scales + g * 8 * pitch + i * (4 / lanes);
#pragma unroll
        for (uint b = 0; b < blocks; ++b) {
          const half own = blocks == 1 ? *d : ((local const half2*)d)[b / 2][b % 2];
          const float scale = (float)own * xd[i * (4 / lanes) + b];
          chain[g] = __builtin_fmaf(scale, (float)of_four(sum, b * lanes), chain[g]);
        }
      }
    }
    m.chains[t * 32] = chain;
  }
}

/// The products of `groups` groups from `group` on, of `count` rows each.
ZRT_INLINE void take_groups(const enum Type type, const uint groups, const uint steps, Matrix m, uint group, uint count,
                            Result result) {
  const uint all = m.cols / 32, whole = type == q8_0 ? 2 : 4, lane = lane_id() % 4;
  m.q += (ulong)group * 8 * (type == q8_0 ? m.cols : m.cols / 2);
  m.d += (ulong)group * 8 * all;
#pragma unroll 1
  for (uint panel = 0; panel < all; panel += PANEL) {
    const uint width = least(all - panel, PANEL);
    stage_scales(m.scales, m.d, (groups - 1) * 8 + count, all, panel, width);
    if (lane_id() / 4 >= count) continue;
    const uint pitch = pitch_of(width);
    local const half* scales = m.scales + lane_id() / 4 * pitch;
    uint b = 0;
#pragma unroll 1
    for (; b + steps * whole <= width; b += steps * whole)
      take_blocks(type, groups, steps, whole, m, panel + b, scales + b, pitch);
#pragma unroll 1
    for (; b + whole <= width; b += whole) take_blocks(type, groups, 1, whole, m, panel + b, scales + b, pitch);
    if (whole == 4 && b + 2 <= width) {
      take_blocks(type, groups, 1, 2, m, panel + b, scales + b, pitch);
      b += 2;
    }
    if (b < width) take_blocks(type, groups, 1, 1, m, panel + b, scales + b, pitch);
  }
  if (lane >= groups) return;
  // Each of the four lanes of a row writes one group's.
#pragma unroll 1
  for (uint t = 0; t < m.tokens; ++t)
    put(result, (group + lane) * 8 + lane_id() / 4, t, ((local const float*)(m.chains + t * 32))[lane]);
}

#define ZRT_MATVEC(type, narrow_steps, wide_steps)                                                                     \
  ZRT_KERNEL(32)                                                                                                       \
  matvec_##type(global const char* q, global const half* d, global const char* xq, global const float* xd,             \
                global const float* bias, global float* y, uint rows, uint cols, uint tokens) {                        \
    local half scales[16 * PANEL] __attribute__((aligned(16)));                                                        \
    local float4 chains[TOKENS * 32];                                                                                  \
    const Part here = part_of(group_x(), cols < NARROW ? 32 : 16, rows), batch = part_of(group_y(), TOKENS, tokens);   \
    const Result result = result_of(bias, y, rows, here, batch);                                                       \
    const uint blocks = cols / 32;                                                                                     \
    const Matrix m = {q + (ulong)here.first * (type == q8_0 ? cols : cols / 2),                                        \
                      d + (ulong)here.first * blocks,                                                                  \
                      xq + (ulong)batch.first * cols,                                                                  \
                      xd + (ulong)batch.first * blocks,                                                                \
                      cols,                                                                                            \
                      batch.count,                                                                                     \
                      scales,                                                                                          \
                      chains + lane_id()};                                                                             \
    if (here.count == 32)                                                                                              \
      take_groups(type, 4, narrow_steps, m, 0, 8, result);                                                             \
    else if (here.count == 16 && cols >= NARROW)                                                                       \
      take_groups(type, 2, wide_steps, m, 0, 8, result);                                                               \
    else                                                                                                               \
      _Pragma("unroll 1") for (uint group = 0; group * 8 < here.count; ++group)                                        \
          take_groups(type, 1, wide_steps, m, group, least(here.count - group * 8, 8), result);                        \
  }
ZRT_MATVEC(q8_0, 4, 4)
ZRT_MATVEC(q4_0, 2, 4)
