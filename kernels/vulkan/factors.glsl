// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/factors.glsl: the integer sub-scales of Q4_K and Q5_K.
#ifndef ZRT_FACTORS
#define ZRT_FACTORS

#include "place.glsl"

/// The six-bit factors of four runs each: runs 0 to 3 in x, 4 to 7 in y, a byte for each.
uvec2 scales_of(uvec4 head) {
  return uvec2(head.y & 0x3f3f3f3fu, (head.w & 0x0f0f0f0fu) | (head.y >> 2 & 0x30303030u));
}
uvec2 offsets_of(uvec4 head) {
  return uvec2(head.z & 0x3f3f3f3fu, (head.w >> 4 & 0x0f0f0f0fu) | (head.z >> 2 & 0x30303030u));
}
int factor_of(uvec2 factors, uint run) { return int((run < 4 ? factors.x : factors.y) >> run % 4 * 8 & 255u); }

#endif
