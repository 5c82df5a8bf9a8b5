// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/dot4.glsl: sums of products of signed bytes.
#ifndef ZRT_DOT4
#define ZRT_DOT4

#include "place.glsl"

int signed_byte(uint word, uint i) { return int(word << 24 - 8 * i) >> 24; }

int dot_of(uint a, uint b) {
  int sum = signed_byte(a, 0) * signed_byte(b, 0);
  [[unroll]] for (uint i = 1; i < 4; ++i) sum += signed_byte(a, i) * signed_byte(b, i);
  return sum;
}
/// Of sixteen signed bytes.
int dot_of(uvec4 a, uvec4 b) { return dot_of(a.x, b.x) + dot_of(a.y, b.y) + dot_of(a.z, b.z) + dot_of(a.w, b.w); }
/// The sum of sixteen signed bytes.
int sum_of(uvec4 a) { return dot_of(uvec4(0x01010101u), a); }

#endif
