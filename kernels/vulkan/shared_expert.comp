#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/shared_expert.comp: the expert that every token takes, behind its gate.
//
// x [tokens][dim], branch, sum, y [tokens][cols]. Grid: tokens. Canonical: dot16 of gate and x. y may be branch or sum. A
// lane takes dim / 16 + cols / 256 turns of a loop.
#include "dot16.glsl"
#include "elementary.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t x, branch, sum, gate, y;
  uint dim, cols;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint64_t x = args.x + uint64_t(group_x()) * args.dim * 4, row = uint64_t(group_x()) * args.cols;
  real chain = 0.0;
  for (uint i = lane_id(); i < chain_end(args.dim); i += 16)
    chain = zrt_fma(real_at(args.gate, i), real_at(x, i), chain);
  real opened = sigmoid_of(tree16(chain));
  for (uint i = lane_id(); i < args.cols; i += 256)
    put_real(args.y, row + i, zrt_fma(opened, real_at(args.branch, row + i), real_at(args.sum, row + i)));
}
