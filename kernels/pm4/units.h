// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/units.h: where a block of a Q8_0 or Q4_0 matrix is.
#pragma once

#include "place.h"

// Blocks that a wave loads of a row at once, 64 bytes.
#define UNIT_Q8_0 2
#define UNIT_Q4_0 4

// Blocks lie [rows / 8][blocks / unit][8][unit], and where a row ends with fewer, in powers of two, the larger first.

/// The place of block `block` of row `row` of a group of eight rows of `blocks` blocks, or of what follows a whole number
/// of units of the group: in blocks from where that begins.
ZRT_INLINE uint place_in_group(const uint unit, uint row, uint block, uint blocks) {
  uint first = block & ~(unit - 1), width = unit;
  if (first + unit <= blocks) return first * 7 + block + row * unit;
#pragma unroll
  for (uint half_width = unit / 2; half_width > 0; half_width /= 2)
    if (first + width > blocks) {
      width = half_width;
      if (block >= first + width) first += width;
    }
  return first * 7 + block + row * width;
}

/// The place of block `block` of row `row` of the matrix, in blocks.
ZRT_INLINE ulong block_place(const uint unit, uint row, uint block, uint blocks) {
  return (ulong)(row / 8) * 8 * blocks + place_in_group(unit, row % 8, block, blocks);
}
