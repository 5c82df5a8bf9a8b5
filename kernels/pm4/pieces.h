// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/pieces.h: where the values of an F32 or F16 matrix are.
#pragma once

#include "place.h"

// 16 bytes of a row are a piece, and 32 rows a group: pieces lie [rows / 32][pieces of a row][32], so that the lanes of
// a wave, which have a row each, load 512 contiguous bytes.
#define GROUP_ROWS 32
/// Columns of a piece.
#define PIECE(element) (16 / sizeof(element))

/// The place of column `column` of row `row`, in values.
ZRT_INLINE ulong value_place(const uint piece, uint row, uint column, uint cols) {
  const uint first = column & ~(piece - 1);
  return (ulong)(row & ~(GROUP_ROWS - 1)) * cols + (first * (GROUP_ROWS - 1) + row % GROUP_ROWS * piece + column);
}
