// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/head_columns.cl: some columns of every head, as they are or as gates of others.
//
// x [heads][head_dim], gated [heads][columns], y [heads][y_dim], the heads of all tokens. Grid: (ceil(columns / 64),
// heads). Canonical. gated may be null, or y.
#include "elementary.h"

ZRT_KERNEL(64)
head_columns(global const float* x, global const float* gated, global float* y, uint head_dim, uint first,
             uint columns, uint y_dim) {
  const uint i = group_x() * 64 + lane_id();
  if (i >= columns) return;
  const float value = x[(ulong)group_y() * head_dim + first + i];
  y[(ulong)group_y() * y_dim + i] = gated == 0 ? value : gated[(ulong)group_y() * columns + i] * sigmoid_of(value);
}
