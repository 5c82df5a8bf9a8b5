// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/numerics_probe.comp: what a device makes of stored triples, for the host to compare with its own bits.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"

ZRT_LANES(64);
ZRT_ARGUMENTS {
  uint64_t triples, results;
  uint count;
};

/// A fused chain whose links depend on each other.
real chain_of(float a, float b, float c) {
  real sum = c;
  [[unroll]] for (uint i = 0; i < 8; ++i) sum = zrt_fma(a, b, sum);
  return sum;
}

void main() {
  Arguments of = Arguments(address_of_arguments);
  const uint i = group_x() * 64 + lane_id();
  if (i >= of.count) return;
  real a = real_at(of.triples, i * 3), b = real_at(of.triples, i * 3 + 1), c = real_at(of.triples, i * 3 + 2);
  real product = a * b;
  const uint to = i * 8;
  put_real(of.results, to, a + b);
  put_real(of.results, to + 1, product);
  put_real(of.results, to + 2, product + c);
  put_real(of.results, to + 3, zrt_fma(a, b, c));
  put_real(of.results, to + 4, chain_of(a, b, c));
  put_real(of.results, to + 5, zrt_div(a, b));
  put_real(of.results, to + 6, zrt_sqrt(a));
  put_word(of.results, to + 7, packHalf2x16(vec2(a, 0.0)));
}
