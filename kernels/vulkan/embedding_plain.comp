#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/embedding_plain.comp: rows of a table of F32, F16 or BF16.
//
// makes: embedding_f32 ELEMENT=32
// makes: embedding_f16 ELEMENT=16
// makes: embedding_bf16 ELEMENT=116
// Grid: (ceil(cols / 256), tokens). Canonical.
#include "embedded_row.glsl"
#include "pieces.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t ids, table, y, fault;
  uint rows, cols;
  float scale;
};

real value_of(uint64_t table, uint row, uint i, uint cols) {
#if ELEMENT == 32
  return real_at(table, value_place(4, row, i, cols));
#elif ELEMENT == 16
  return f16_at(table, value_place(8, row, i, cols));
#else
  return bf16_of(short_at(table, value_place(8, row, i, cols)));
#endif
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint i = group_x() * 256 + lane_id(), row = row_of(args.ids, args.fault, args.rows);
  if (i >= args.cols) return;
  real scaled = value_of(args.table, row, i, args.cols) * args.scale;
  put_real(args.y, uint64_t(group_y()) * args.cols + i, scaled);
}
