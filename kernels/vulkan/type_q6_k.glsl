// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/type_q6_k.glsl: blocks of Q6_K: sixteen runs of 16 with signed factors.
#define BLOCK 256
#define STEPS 4

struct Parts {
  uint64_t low, top, scales, d;
};
struct Head {
  float d;
  uvec4 factors;
};
/// Two neighbouring runs in the low halves of their bytes, and the two 64 columns later in the high halves; each value is
/// four times what it is.
struct Step {
  uint run;
  uvec4 w[4];
  ivec4 factors;
};

Head head_of(Parts m, uint row, uint b, uint blocks) {
  const uint64_t place = piece_place(row, b, blocks);
  return Head(f16_at(m.d, place), piece_at(m.scales, place));
}
/// Four low bits are bits 2 to 5 of `bytes`, the upper two those of `pairs`, shifted by two for each word.
uvec4 widened(uvec4 bytes, uint pairs) {
  return bytes & 0x3c3c3c3cu | uvec4(pairs << 6, pairs << 4, pairs << 2, pairs) & 0xc0c0c0c0u;
}
Step step_of(Parts m, Head h, uint row, uint b, uint part, uint blocks) {
  Step s;
  s.run = part / 2 * 8 + part % 2 * 2;
  const uint64_t first = piece_place(row, b * 8 + part * 2, blocks * 8);
  const uvec4 lower = piece_at(m.low, first), upper = piece_at(m.low, first + kGroupRows);
  const uvec4 top = piece_at(m.top, piece_place(row, b * 4 + part, blocks * 4));
  s.w = uvec4[4](widened(lower << 2, top.x), widened(upper << 2, top.z), widened(lower >> 2, top.y),
                 widened(upper >> 2, top.w));
  const uint near = (part < 2 ? h.factors.x : h.factors.z) >> part % 2 * 16;
  const uint later = (part < 2 ? h.factors.y : h.factors.w) >> part % 2 * 16;
  s.factors = ivec4(signed_byte(near, 0), signed_byte(near, 1), signed_byte(later, 0), signed_byte(later, 1));
  return s;
}
void add(inout Sums sums, Step s, uint64_t x) {
  sums.scaled += s.factors.x * dot_of(s.w[0], piece_at(x, s.run)) + s.factors.y * dot_of(s.w[1], piece_at(x, s.run + 1));
  sums.scaled +=
      s.factors.z * dot_of(s.w[2], piece_at(x, s.run + 4)) + s.factors.w * dot_of(s.w[3], piece_at(x, s.run + 5));
}
real finished(Head h, Sums sums, float x_scale, float chain) {
  real scale = h.d * x_scale;
  return zrt_fma(scale, float(sums.scaled >> 2), chain);
}
