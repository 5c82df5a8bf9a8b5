// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/pieces.glsl: where the values of a matrix are.
#ifndef ZRT_PIECES
#define ZRT_PIECES

#include "memory.glsl"

// 16 bytes of a row are a piece, and 32 rows a group: pieces lie [rows / 32][pieces of a row][32], so that lanes which
// have a row each load 512 contiguous bytes. Of blocks these are the pieces of what upload/ says of their type; the
// scales d of Q8_0, Q4_0 and MXFP4 lie [rows / 32][blocks / 8][32][8], and where a row ends with fewer than eight blocks,
// in powers of two, the larger first.
const uint kGroupRows = 32;

/// The place of piece `piece` of row `row`, which has `pieces`: in pieces. What a block has one of lies likewise.
uint64_t piece_place(uint row, uint piece, uint pieces) {
  return uint64_t(row & ~(kGroupRows - 1)) * pieces + (piece * kGroupRows + row % kGroupRows);
}
/// The place of item `item` of row `row`, of `items` of which `together` lie side by side, a power of two up to 8: fewer
/// at the row's end come in powers of two, the larger first.
uint64_t ragged_place(const uint together, uint row, uint item, uint items) {
  uint first = item & ~(together - 1), width = together;
  [[unroll]] for (uint narrower = together / 2; narrower > 0; narrower /= 2)
    if (first + width > items) {
      width = narrower;
      if (item >= first + width) first += width;
    }
  return uint64_t(row & ~(kGroupRows - 1)) * items + (first * (kGroupRows - 1) + row % kGroupRows * width + item);
}
/// The place of the scale of block `block` of row `row`.
uint64_t scale_place(uint row, uint block, uint blocks) { return ragged_place(8, row, block, blocks); }
/// The place of a value of f32 of a matrix with any number of columns.
uint64_t real_place(uint row, uint column, uint cols) { return ragged_place(4, row, column, cols); }
/// The place of column `column` of row `row` of F32, F16 or BF16, of which a piece has `piece`: in values.
uint64_t value_place(const uint piece, uint row, uint column, uint cols) {
  const uint first = column & ~(piece - 1);
  return uint64_t(row & ~(kGroupRows - 1)) * cols + (first * (kGroupRows - 1) + row % kGroupRows * piece + column);
}

#endif
