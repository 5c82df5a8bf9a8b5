#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/head_columns.comp: some columns of every head, as they are or as gates of others.
//
// x [heads][head_dim], gated [heads][columns], y [heads][y_dim], the heads of all tokens. Grid: (ceil(columns / 64),
// heads). Canonical. gated may be absent, or y.
#include "elementary.glsl"

ZRT_LANES(64);
ZRT_ARGUMENTS {
  uint64_t x, gated, y;
  uint head_dim, first, columns, y_dim;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint i = group_x() * 64 + lane_id();
  if (i >= args.columns) return;
  real value = real_at(args.x, uint64_t(group_y()) * args.head_dim + args.first + i);
  if (args.gated != 0) value = real_at(args.gated, uint64_t(group_y()) * args.columns + i) * sigmoid_of(value);
  put_real(args.y, uint64_t(group_y()) * args.y_dim + i, value);
}
