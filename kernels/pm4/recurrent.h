// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/recurrent.h: the rows of a slot in a step, and its block of recurrent state.
//
// The second number of the grid is a token. The workgroups of the first token of a slot take all of the slot's rows, one
// after the other, which are one range; those of the others have nothing to do.
#pragma once

#include "place.h"

typedef struct {
  uint first, end;      // rows of the step; first is end where there is nothing to do
  global float* state;  // the op's part of the slot's block
} Run;

ZRT_INLINE Run run_of(global const uint* slots, global float* state, uint tokens, uint part, uint block) {
  const uint first = group_y(), slot = slots[first];
  Run run = {first, first, state + ((ulong)slot * block + part)};
  if (first != 0 && slots[first - 1] == slot) return run;
  do
    ++run.end;
  while (run.end < tokens && slots[run.end] == slot);
  return run;
}

/// The place of an element of a matrix of `rows` rows whose columns lie in tiles of sixteen: LaneMatrix.
ZRT_INLINE uint tile_width(uint column, uint cols) { return least(cols - column / 16 * 16, 16); }
ZRT_INLINE uint tile_base(uint column, uint rows) { return column / 16 * 16 * rows + column % 16; }
