// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/embedding.cl: rows of a table of f32, f16, bf16, Q8_0, Q4_0, MXFP4, Q4_K, Q5_K or Q6_K values.
//
// Grid: (ceil(cols / 256), tokens). An id outside the table sets *fault and reads row 0, as the op does.
#include "floats4.h"
#include "pieces.h"

ZRT_INLINE uint row_of(global const int* ids, global uint* fault, uint rows) {
  const uint id = (uint)ids[group_y()];
  if (id < rows) return id;
  if (lane_id() == 0) *fault = 1;
  return 0;
}

// A table of f32, f16 or bf16 as pieces.h says.
ZRT_KERNEL(256)
embedding_f32(global const int* ids, global const float* table, global float* y, global uint* fault, uint rows,
              uint cols, float scale) {
  const uint i = group_x() * 256 + lane_id();
  const uint row = row_of(ids, fault, rows);
  if (i < cols) y[(ulong)group_y() * cols + i] = table[value_place(COLUMNS_OF(float), row, i, cols)] * scale;
}

ZRT_KERNEL(256)
embedding_f16(global const int* ids, global const half* table, global float* y, global uint* fault, uint rows,
              uint cols, float scale) {
  const uint i = group_x() * 256 + lane_id();
  const uint row = row_of(ids, fault, rows);
  if (i < cols) y[(ulong)group_y() * cols + i] = (float)table[value_place(COLUMNS_OF(half), row, i, cols)] * scale;
}

ZRT_KERNEL(256)
embedding_bf16(global const int* ids, global const ushort* table, global float* y, global uint* fault, uint rows,
               uint cols, float scale) {
  const uint i = group_x() * 256 + lane_id();
  const uint row = row_of(ids, fault, rows);
  if (i >= cols) return;
  y[(ulong)group_y() * cols + i] =
      bits_to_float((uint)table[value_place(COLUMNS_OF(ushort), row, i, cols)] << 16) * scale;
}

// Tables of blocks lie as the matrix-vector kernels have them, so that one may be the output projection too.
ZRT_KERNEL(256)
embedding_q8_0(global const int* ids, global const char* q, global const half* d, global float* y, global uint* fault,
               uint rows, uint cols, float scale) {
  const uint i = group_x() * 256 + lane_id();
  const uint row = row_of(ids, fault, rows);
  if (i >= cols) return;
  const float value = (float)q[piece_place(row, i / 16, cols / 16) * 16 + i % 16] * (float)d[scale_place(row, i / 32, cols / 32)];
  y[(ulong)group_y() * cols + i] = value * scale;
}

ZRT_KERNEL(256)
embedding_q4_0(global const int* ids, global const uchar* q, global const half* d, global float* y, global uint* fault,
               uint rows, uint cols, float scale) {
  const uint i = group_x() * 256 + lane_id();
  const uint row = row_of(ids, fault, rows);
  if (i >= cols) return;
  const uint byte = q[piece_place(row, i / 32, cols / 32) * 16 + i % 16];
  const int value = (int)((i % 32 < 16 ? byte & 15 : byte >> 4) ^ 8) - 8;
  y[(ulong)group_y() * cols + i] = (float)value * (float)d[scale_place(row, i / 32, cols / 32)] * scale;
}

ZRT_KERNEL(256)
embedding_mxfp4(global const int* ids, global const uchar* q, global const uchar* d, global float* y,
                global uint* fault, uint rows, uint cols, float scale) {
  const uint i = group_x() * 256 + lane_id();
  const uint row = row_of(ids, fault, rows);
  if (i >= cols) return;
  const uint byte = q[piece_place(row, i / 32, cols / 32) * 16 + i % 16];
  const int value = (int)(twice_floats(i % 32 < 16 ? byte : byte >> 4) << 24) >> 24;
  y[(ulong)group_y() * cols + i] = (float)value * half_power(d[scale_place(row, i / 32, cols / 32)]) * scale;
}

/// A value of Q4_K or Q5_K of block `b` of `blocks` of a row; `fifth` is its fifth bit.
ZRT_INLINE float offset_value(global const uchar* q, global const uchar* head, uint row, uint b, uint blocks, uint i,
                              uint fifth) {
  const uint run = i / 32;
  head += piece_place(row, b, blocks) * 16;
  const half2 d = *(global const half2*)head;
  head += 4;
  const uint low_scale = head[run % 4], low_offset = head[run % 4 + 4], high = head[run % 4 + 8];
  const uint run_scale = run < 4 ? low_scale & 63 : (high & 15) | low_scale >> 6 << 4;
  const uint run_offset = run < 4 ? low_offset & 63 : high >> 4 | low_offset >> 6 << 4;
  const uint byte = q[piece_place(row, b * 8 + run / 2 * 2 + i / 16 % 2, blocks * 8) * 16 + i % 16];
  const float value = (float)((run % 2 == 0 ? byte & 15 : byte >> 4) | fifth << 4);
  const float factor = (float)d.x * (float)run_scale, offset = (float)d.y * (float)run_offset;
  return __builtin_fmaf(factor, value, -offset);
}

ZRT_KERNEL(256)
embedding_q4_k(global const int* ids, global const uchar* q, global const uchar* head, global float* y,
               global uint* fault, uint rows, uint cols, float scale) {
  const uint i = lane_id();
  const float value = offset_value(q, head, row_of(ids, fault, rows), group_x(), cols / 256, i, 0);
  y[(ulong)group_y() * cols + group_x() * 256 + i] = value * scale;
}

ZRT_KERNEL(256)
embedding_q5_k(global const int* ids, global const uchar* q, global const uchar* top, global const uchar* head,
               global float* y, global uint* fault, uint rows, uint cols, float scale) {
  const uint i = lane_id(), row = row_of(ids, fault, rows);
  const uint bits = top[piece_place(row, group_x() * 2 + i / 16 % 2, cols / 128) * 16 + i % 16];
  const float value = offset_value(q, head, row, group_x(), cols / 256, i, bits >> i / 32 & 1);
  y[(ulong)group_y() * cols + group_x() * 256 + i] = value * scale;
}

ZRT_KERNEL(256)
embedding_q6_k(global const int* ids, global const uchar* low, global const uchar* top, global const char* scales,
               global const half* d, global float* y, global uint* fault, uint rows, uint cols, float scale) {
  const uint i = lane_id();
  const uint row = row_of(ids, fault, rows);
  const bool high = i / 64 % 2 != 0;
  const uint piece = i / 128 * 4 + i / 16 % 4, place = i % 16;
  const uint halves = low[piece_place(row, group_x() * 8 + piece, cols / 32) * 16 + place];
  const ulong pairs_at = piece_place(row, group_x() * 4 + piece / 2, cols / 64) * 16;
  const uint pairs = top[pairs_at + piece % 2 * 8 + (high ? 4 : 0) + place % 4];
  // A signed number of six bits.
  const uint bits = (high ? halves >> 4 : halves & 15) | (pairs >> place / 4 * 2 & 3) << 4;
  const int value = (int)(bits ^ 32) - 32;
  const ulong slot = piece_place(row, group_x(), cols / 256);
  const float factor = (float)d[slot] * (float)scales[slot * 16 + i / 16];
  y[(ulong)group_y() * cols + group_x() * 256 + i] = factor * (float)value * scale;
}
