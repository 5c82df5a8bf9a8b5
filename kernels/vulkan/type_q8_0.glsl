// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/type_q8_0.glsl: blocks of Q8_0: signed bytes and a scale.
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

Head head_of(Parts m, uint row, uint b, uint blocks) { return Head(f16_at(m.d, scale_place(row, b, blocks))); }
Step step_of(Parts m, Head h, uint row, uint b, uint part, uint blocks) {
  const uint64_t first = piece_place(row, b * 2, blocks * 2);
  return Step(uvec4[2](piece_at(m.q, first), piece_at(m.q, first + kGroupRows)));
}
#include "sum_of_32.glsl"
