#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/rope.comp: rotary position embedding of the heads of each row.
//
// Grid: (heads, tokens). y may be x. frequencies has n_rot / 2 values, rope_frequency's. Canonical.
#include "rotation.glsl"

ZRT_LANES(32);
ZRT_ARGUMENTS {
  uint64_t x, turns, frequencies, y;
  uint heads, dim, n_rot, neox;
  float magnitude;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const Rotation rotation = Rotation(args.n_rot, args.neox, args.magnitude);
  const uint64_t at = (uint64_t(group_y()) * args.heads + group_x()) * args.dim * 4, x = args.x + at, y = args.y + at;
  const uint turn = word_at(args.turns, group_y());
  // A lane writes only what it alone has still to read.
  for (uint i = lane_id(); i < args.n_rot / 2; i += 32) {
    const uint a = first_of(rotation, i), b = second_of(rotation, i);
    real2 turned = rotated(rotation, turn, real_at(args.frequencies, i), real_at(x, a), real_at(x, b));
    put_real(y, a, turned.x);
    put_real(y, b, turned.y);
  }
  for (uint i = args.n_rot + lane_id(); i < args.dim; i += 32) put_word(y, i, word_at(x, i));
}
