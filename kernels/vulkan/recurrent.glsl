// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/recurrent.glsl: the rows of a slot in a step, and its block of recurrent state.
//
// The second number of the grid is a token. The workgroups of the first token of a slot take all of the slot's rows, one
// after the other, which are one range; those of the others have nothing to do.
#ifndef ZRT_RECURRENT
#define ZRT_RECURRENT

#include "memory.glsl"

struct Rows {
  uint first, end;  // rows of the step; first is end where there is nothing to do
  uint64_t state;   // the op's part of the slot's block
};

Rows run_of(uint64_t slots, uint64_t state, uint tokens, uint part, uint block) {
  const uint first = group_y(), slot = word_at(slots, first);
  Rows run = Rows(first, first, state + (uint64_t(slot) * block + part) * 4);
  if (first != 0 && word_at(slots, first - 1) == slot) return run;
  do
    ++run.end;
  while (run.end < tokens && word_at(slots, run.end) == slot);
  return run;
}

/// The place of an element of a matrix of `rows` rows whose columns lie in tiles of sixteen: LaneMatrix.
uint tile_width(uint column, uint cols) { return min(cols - column / 16 * 16, 16); }
uint tile_base(uint column, uint rows) { return column / 16 * 16 * rows + column % 16; }

#endif
