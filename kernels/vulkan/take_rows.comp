#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/take_rows.comp: rows of a table of f32 values [rows][cols], by index.
//
// makes: take_rows_f32
// Grid: (ceil(cols / 256), indices). An index outside the table sets fault and gives zeros, as the op does.
#include "memory.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t indices, x, y, fault;
  uint rows, cols;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint i = group_x() * 256 + lane_id(), row = word_at(args.indices, group_y());
  const bool present = row < args.rows;
  if (!present && lane_id() == 0) put_word(args.fault, 0, 1);
  if (i >= args.cols) return;
  const uint64_t to = uint64_t(group_y()) * args.cols + i;
  if (present)
    put_word(args.y, to, word_at(args.x, uint64_t(row) * args.cols + i));
  else
    put_word(args.y, to, 0);
}
