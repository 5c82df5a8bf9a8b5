// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/type_q4_0.glsl: blocks of Q4_0: signed half bytes and a scale.
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

/// Signed numbers of four bits as signed bytes: less than 128, and minus what it is too large, nothing is carried.
uvec4 widened(uvec4 halves) { return ((halves & 0x0f0f0f0fu ^ 0x08080808u) + 0x78787878u) ^ 0x80808080u; }

Head head_of(Parts m, uint row, uint b, uint blocks) { return Head(f16_at(m.d, scale_place(row, b, blocks))); }
Step step_of(Parts m, Head h, uint row, uint b, uint part, uint blocks) {
  const uvec4 halves = piece_at(m.q, piece_place(row, b, blocks));
  return Step(uvec4[2](widened(halves), widened(halves >> 4)));
}
#include "sum_of_32.glsl"
