// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/pieces.h: where the values of a matrix are.
#pragma once

#include "place.h"

// 16 bytes of a row are a piece, and 32 rows a group: pieces lie [rows / 32][pieces of a row][32], so that the lanes of
// a wave, which have a row each, load 512 contiguous bytes. Of blocks these are the pieces of what upload/ says of their
// type; the scales d of Q8_0 and Q4_0 lie [rows / 32][blocks / 8][32][8], and where a row ends with fewer than eight
// blocks, in powers of two, the larger first.
#define GROUP_ROWS 32
/// Bytes of a piece of each row of a group.
#define PIECES (GROUP_ROWS * 16)
/// Columns of a piece of F32, F16 or BF16.
#define COLUMNS_OF(element) (16 / sizeof(element))

/// The place of column `column` of row `row` of F32, F16 or BF16, in values.
ZRT_INLINE ulong value_place(const uint piece, uint row, uint column, uint cols) {
  const uint first = column & ~(piece - 1);
  return (ulong)(row & ~(GROUP_ROWS - 1)) * cols + (first * (GROUP_ROWS - 1) + row % GROUP_ROWS * piece + column);
}
/// The place of piece `piece` of row `row`, which has `pieces`: in pieces. What a block has one of lies likewise.
ZRT_INLINE ulong piece_place(uint row, uint piece, uint pieces) {
  return (ulong)(row & ~(GROUP_ROWS - 1)) * pieces + (piece * GROUP_ROWS + row % GROUP_ROWS);
}
/// The place of item `item` of row `row`, of `items` of which `together` lie side by side, a power of two: fewer at the
/// row's end come in powers of two, the larger first.
ZRT_INLINE ulong ragged_place(const uint together, uint row, uint item, uint items) {
  uint first = item & ~(together - 1), width = together;
#pragma unroll
  for (uint half_width = together / 2; half_width > 0; half_width /= 2)
    if (first + width > items) {
      width = half_width;
      if (item >= first + width) first += width;
    }
  return (ulong)(row & ~(GROUP_ROWS - 1)) * items + (first * (GROUP_ROWS - 1) + row % GROUP_ROWS * width + item);
}
/// The place of the scale of block `block` of row `row`.
ZRT_INLINE ulong scale_place(uint row, uint block, uint blocks) { return ragged_place(8, row, block, blocks); }
/// The place of a value of f32 of a matrix with any number of columns.
ZRT_INLINE ulong real_place(uint row, uint column, uint cols) {
  return ragged_place(COLUMNS_OF(float), row, column, cols);
}

/// Loads 1, 2, 4 or 8 halves that lie side by side.
ZRT_INLINE void load_halves(const uint count, global const char* from, half* to) {
  if (count == 8) {
    const half8 h = *(global const half8*)from;
#pragma unroll
    for (uint i = 0; i < 8; ++i) to[i] = h[i];
  } else if (count == 4) {
    const half4 h = *(global const half4*)from;
#pragma unroll
    for (uint i = 0; i < 4; ++i) to[i] = h[i];
  } else if (count == 2) {
    const half2 h = *(global const half2*)from;
    to[0] = h.x;
    to[1] = h.y;
  } else {
    to[0] = *(global const half*)from;
  }
}
