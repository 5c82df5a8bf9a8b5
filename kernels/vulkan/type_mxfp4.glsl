// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/type_mxfp4.glsl: blocks of MXFP4: floats of four bits and an exponent.
#include "floats4.glsl"

#define BLOCK 32
#define STEPS 1

struct Parts {
  uint64_t q, d;
};
struct Head {
  float d;
};
struct Step {
  uvec4 w[2];
};

uvec4 widened(uvec4 halves) {
  return uvec4(twice_floats(halves.x), twice_floats(halves.y), twice_floats(halves.z), twice_floats(halves.w));
}

Head head_of(Parts m, uint row, uint b, uint blocks) {
  return Head(half_power(byte_at(m.d, scale_place(row, b, blocks))));
}
Step step_of(Parts m, Head h, uint row, uint b, uint part, uint blocks) {
  const uvec4 halves = piece_at(m.q, piece_place(row, b, blocks));
  return Step(uvec4[2](widened(halves), widened(halves >> 4)));
}
#include "sum_of_32.glsl"
