// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/embedding.cl: rows of a table of f32, f16, Q8_0 or Q4_0 values.
//
// Grid: (ceil(cols / 256), tokens). An id outside the table sets *fault and reads row 0, as the op does.
#include "place.h"

ZRT_INLINE uint row_of(global const int* ids, global uint* fault, uint rows) {
  const uint id = (uint)ids[group_y()];
  if (id < rows) return id;
  if (lane_id() == 0) *fault = 1;
  return 0;
}

ZRT_KERNEL(256)
embedding_f32(global const int* ids, global const float* table, global float* y, global uint* fault, uint rows,
              uint cols, float scale) {
  const uint i = group_x() * 256 + lane_id();
  const uint row = row_of(ids, fault, rows);
  if (i < cols) y[(ulong)group_y() * cols + i] = table[(ulong)row * cols + i] * scale;
}

ZRT_KERNEL(256)
embedding_f16(global const int* ids, global const half* table, global float* y, global uint* fault, uint rows,
              uint cols, float scale) {
  const uint i = group_x() * 256 + lane_id();
  const uint row = row_of(ids, fault, rows);
  if (i < cols) y[(ulong)group_y() * cols + i] = (float)table[(ulong)row * cols + i] * scale;
}

// q and d as matvec_q8_0.cl has them, so that a table may be the output projection too.
ZRT_KERNEL(256)
embedding_q8_0(global const int* ids, global const char* q, global const half* d, global float* y, global uint* fault,
               uint rows, uint cols, float scale) {
  const uint i = group_x() * 256 + lane_id();
  const uint row = row_of(ids, fault, rows);
  if (i >= cols) return;
  const float value = (float)q[(ulong)row * cols + i] * (float)d[((ulong)row * cols + i) / 32];
  y[(ulong)group_y() * cols + i] = value * scale;
}

// q and d as matvec_q4_0.cl has them.
ZRT_KERNEL(256)
embedding_q4_0(global const int* ids, global const uchar* q, global const half* d, global float* y, global uint* fault,
               uint rows, uint cols, float scale) {
  const uint i = group_x() * 256 + lane_id();
  const uint row = row_of(ids, fault, rows);
  if (i >= cols) return;
  const ulong block = ((ulong)row * cols + i) / 32;
  const uint byte = q[block * 16 + i % 16];
  const int value = (int)(i % 32 < 16 ? byte & 15 : byte >> 4) - 8;
  y[(ulong)group_y() * cols + i] = (float)value * (float)d[block] * scale;
}
