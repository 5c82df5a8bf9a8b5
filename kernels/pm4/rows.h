// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/rows.h: the rows and tokens of a wave of a matrix-vector product, and where its results go.
#pragma once

#include "place.h"

typedef struct {
  uint first, count;
} Part;

/// Part `group` of `all`, in parts of `most`.
ZRT_INLINE Part part_of(uint group, uint most, uint all) {
  const Part p = {group * most, least(all - group * most, most)};
  return p;
}

/// Keeps `base` in scalar registers, so that a load adds a lane's offset of 32 bits by itself.
#define ZRT_UNIFORM(base) __asm("" : "+s"(base))

/// The wave's results.
typedef struct {
  global const float* bias;  // may be absent
  global float* y;           // [tokens][all_rows]
  uint all_rows;
  Part rows, tokens;
} Result;

ZRT_INLINE Result result_of(global const float* bias, global float* y, uint all_rows, Part rows, Part tokens) {
  const Result r = {bias, y + ((ulong)tokens.first * all_rows + rows.first), all_rows,
                    rows, tokens};
  return r;
}

/// Writes y of the wave's row `row` and token `token`, where there is such a row.
ZRT_INLINE void put(Result result, uint row, uint token, float sum) {
  if (row < result.rows.count)
    result.y[token * result.all_rows + row] = result.bias == 0 ? sum : sum + result.bias[result.rows.first + row];
}
/// Writes y of all rows of the wave, at most 32, from [tokens][32].
ZRT_INLINE void put_rows(Result result, local const float* sums) {
#pragma unroll 1
  for (uint t = 0; t < result.tokens.count; ++t) put(result, lane_id(), t, sums[t * 32 + lane_id()]);
}
