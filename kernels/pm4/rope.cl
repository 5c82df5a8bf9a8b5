// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/rope.cl: rotary position embedding of the heads of each row.
//
// Grid: (heads, tokens). One wave takes one head; y may be x. frequencies has n_rot / 2 values, rope_frequency's.
// Canonical.
#include "rotation.h"

ZRT_KERNEL(32)
rope(global const float* x, global const uint* positions, global const float* frequencies, global float* y, uint heads,
     uint dim, uint n_rot, uint neox, float magnitude) {
  const Rotation rotation = {n_rot, neox, magnitude};
  const ulong at = ((ulong)group_y() * heads + group_x()) * dim;
  x += at;
  y += at;
  // A lane writes only what it alone has still to read.
  for (uint i = lane_id(); i < n_rot / 2; i += 32) {
    const uint a = first_of(rotation, i), b = second_of(rotation, i);
    const float2 turned = rotated(rotation, positions[group_y()], frequencies[i], x[a], x[b]);
    y[a] = turned.x;
    y[b] = turned.y;
  }
  for (uint i = n_rot + lane_id(); i < dim; i += 32) y[i] = x[i];
}
