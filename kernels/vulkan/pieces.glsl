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
/// Where a run of items that lie side by side begins, and how many they are.
struct Run {
  uint first, width;
};
/// The run of item `item` of `items` where runs at the row's end have `narrower` items.
Run narrowed(Run run, uint narrower, uint item, uint items) {
  if (run.first + run.width <= items) return run;
  return Run(item >= run.first + narrower ? run.first + narrower : run.first, narrower);
}
/// The place of item `item` of row `row`, of `items` of which `together` lie side by side, 8 or 4: fewer at the row's end
/// come in powers of two, the larger first. No loop: some drivers do not unroll one that halves.
uint64_t ragged_place(uint together, uint row, uint item, uint items) {
  Run run = Run(item & ~(together - 1), together);
  if (together == 8) run = narrowed(run, 4, item, items);
  run = narrowed(narrowed(run, 2, item, items), 1, item, items);
  return uint64_t(row & ~(kGroupRows - 1)) * items +
         (run.first * (kGroupRows - 1) + row % kGroupRows * run.width + item);
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
