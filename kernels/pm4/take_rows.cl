// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/take_rows.cl: rows of a table of f32 values [rows][cols], by index.
//
// Grid: (ceil(cols / 256), indices). An index outside the table sets *fault and gives zeros, as the op does.
#include "place.h"

ZRT_KERNEL(256)
take_rows_f32(global const int* indices, global const float* x, global float* y, global uint* fault, uint rows,
              uint cols) {
  const uint i = group_x() * 256 + lane_id(), row = (uint)indices[group_y()];
  if (row >= rows && lane_id() == 0) *fault = 1;
  if (i < cols) y[(ulong)group_y() * cols + i] = row < rows ? x[(ulong)row * cols + i] : 0.0f;
}
