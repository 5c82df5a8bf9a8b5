// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/rows.glsl: the rows and tokens of a lane of a matrix product, and where its results go.
#ifndef ZRT_ROWS
#define ZRT_ROWS

#include "memory.glsl"

/// The row of a matrix that a lane has, and the rows of activations that it takes.
struct Task {
  uint row, first_token, tokens;
};

/// Writes y [tokens][rows] of a row and a token; the bias may be absent.
void put_sum(uint64_t bias, uint64_t y, uint rows, uint row, uint token, float sum) {
  real biased = sum;
  if (bias != 0) biased = sum + real_at(bias, row);
  put_real(y, uint64_t(token) * rows + row, biased);
}

#endif
