// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/sum_of_32.glsl: the sum of a block of 32 signed bytes, and the chain's step by it.

void add(inout Sums sums, Step s, uint64_t x) {
  sums.scaled += dot_of(s.w[0], piece_at(x, 0)) + dot_of(s.w[1], piece_at(x, 1));
}
real finished(Head h, Sums sums, float x_scale, float chain) {
  real scale = h.d * x_scale;
  return zrt_fma(scale, float(sums.scaled), chain);
}
