// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_f32.cl: a matrix of f32 times activations of f32, for generated tokens, and one that each token chooses.
#define ELEMENT float
#define WIDEN(x) ((float)(x))
#define NAME matvec_f32
#define EXPERTS experts_f32
#include "matvec_dot16.h"

// w: the matrices of all adapters, as one of adapters * rows; ids [tokens]. Grid: (ceil(rows / 32), tokens). A token
// whose id is no adapter's has y; one of 0 or above then sets *fault. y may be null, and nothing is written then; y may be
// sum. Canonical: the order dot16, y added last.
ZRT_KERNEL(32)
lora_rows(global const float* w, global const float* x, global const int* ids, global const float* y, global float* sum,
          global uint* fault, uint rows, uint cols, uint adapters) {
  // In the address space of what no wave writes, whose loads of one address for all lanes are scalar.
  const uint id = (uint)((constant const int*)(ulong)ids)[group_y()];
  const uint begin = group_x() * GROUP_ROWS, row = begin + lane_id();
  const ulong at = (ulong)group_y() * rows + row;
  if (id >= adapters) {
    if ((int)id >= 0 && group_x() == 0 && lane_id() == 0) *fault = 1;
    if (y != 0 && row < rows) sum[at] = y[at];
    return;
  }
  const uint first = id * rows + begin;
  const Matrix m = {w + (ulong)(first / GROUP_ROWS) * GROUP_ROWS * cols, x + (ulong)group_y() * cols, cols, 1,
                    lane_from(first, rows - begin), 0};
  const float product = tree_of(take_row(true, m));
  if (row < rows) sum[at] = y == 0 ? product : y[at] + product;
}
