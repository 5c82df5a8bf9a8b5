// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/blocks_k.h: what the matrix-vector products of the K types share: blocks of 256 with integer sub-scales.
//
// A wave takes eight rows and, in a step, four, two or one block of each. Eight lanes share a block, so a load takes
// four blocks: 512 contiguous bytes of halves of one row, or of the next rows where these are short. Sums of the runs go
// through local memory to one lane for each block of each row, which applies the sub-scales; the chain over blocks is
// one lane's for each row. Offsets into a wave's rows have 32 bits: a row's address is a scalar and the lanes' offsets.
#pragma once

#include "dot4.h"
#include "factors.h"
#include "place.h"

#define ROWS 8
#define SLOTS 32
// The sums of a block's runs, and four words between blocks so that reads of 16 bytes meet no conflict.
#define PITCH 20

/// `count` of the wave's rows are in the matrix; lanes of the others take the last one again, which is at hand.
ZRT_INLINE uint row_within(uint row, uint count) { return row < count ? row : count - 1; }

/// A step's slot of a row's block is block * 8 + row, the order of sub-scales in memory. This is the slot of the eight
/// lanes `lanes` in load `i`: the loads take row after row, `width` blocks of each.
ZRT_INLINE uint slot_of(const uint width, uint i, uint lanes) {
  return lanes % width * ROWS + i * 4 / width + lanes / width;
}
