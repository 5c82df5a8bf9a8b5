// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/type_offset_k.glsl: blocks of Q4_K or, where FIVE_BITS is 1, of Q5_K: eight runs of 32 with factors of
// scale and offset.
#include "factors.glsl"

#define BLOCK 256
#define STEPS 4

#if FIVE_BITS
struct Parts {
  uint64_t q, top, head;
};
#else
struct Parts {
  uint64_t q, head;
};
#endif
struct Head {
  float d, minimum;
  uvec2 scales, offsets;
};
/// Two runs, with the factors of each.
struct Step {
  uint run;
  uvec4 w[4];
  ivec2 scales, offsets;
};

Head head_of(Parts m, uint row, uint b, uint blocks) {
  const uvec4 head = piece_at(m.head, piece_place(row, b, blocks));
  real minimum = f16_of(head.x >> 16);
  return Head(f16_of(head.x & 0xffffu), -minimum, scales_of(head), offsets_of(head));
}
Step step_of(Parts m, Head h, uint row, uint b, uint part, uint blocks) {
  Step s;
  s.run = part * 2;
  const uint64_t first = piece_place(row, b * 8 + s.run, blocks * 8);
  [[unroll]] for (uint i = 0; i < 2; ++i) {
    const uvec4 bytes = piece_at(m.q, first + i * kGroupRows);
    s.w[i] = bytes & 0x0f0f0f0fu;
    s.w[2 + i] = bytes >> 4 & 0x0f0f0f0fu;
#if FIVE_BITS
    const uvec4 bits = piece_at(m.top, piece_place(row, b * 2 + i, blocks * 2)) >> s.run;
    s.w[i] |= bits << 4 & 0x10101010u;
    s.w[2 + i] |= bits << 3 & 0x10101010u;
#endif
  }
  s.scales = ivec2(factor_of(h.scales, s.run), factor_of(h.scales, s.run + 1));
  s.offsets = ivec2(factor_of(h.offsets, s.run), factor_of(h.offsets, s.run + 1));
  return s;
}
void add(inout Sums sums, Step s, uint64_t x) {
  [[unroll]] for (uint i = 0; i < 2; ++i) {
    const uvec4 first = piece_at(x, (s.run + i) * 2), second = piece_at(x, (s.run + i) * 2 + 1);
    sums.scaled += s.scales[i] * (dot_of(s.w[i * 2], first) + dot_of(s.w[i * 2 + 1], second));
    sums.offset += s.offsets[i] * (sum_of(first) + sum_of(second));
  }
}
real finished(Head h, Sums sums, float x_scale, float chain) {
  real scale = h.d * x_scale;
  real minimum = h.minimum * x_scale;
  real scaled = zrt_fma(scale, float(sums.scaled), chain);
  return zrt_fma(minimum, float(sums.offset), scaled);
}
