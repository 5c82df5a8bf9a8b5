// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/factors.h: the integer sub-scales of the K types.
#pragma once

#include "place.h"

/// Product of two signed integers of at most 24 bits.
ZRT_INLINE int product24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
ZRT_INLINE int unsigned_byte(uint word, uint i) { return (int)(word >> 8 * i & 255); }
ZRT_INLINE int signed_byte(uint word, uint i) { return (int)(word << (24 - 8 * i)) >> 24; }

/// The six-bit factors of four runs each: runs 0 to 3 in `low`, 4 to 7 in `high`, a byte for each.
typedef struct {
  uint low, high;
} KFactors;

/// The scales of a block of Q4_K, whose head is d, dmin and three words of factors.
ZRT_INLINE KFactors scales_of(uint4 head) {
  const KFactors f = {head.y & 0x3f3f3f3f, (head.w & 0x0f0f0f0f) | (head.y >> 2 & 0x30303030)};
  return f;
}
ZRT_INLINE KFactors offsets_of(uint4 head) {
  const KFactors f = {head.z & 0x3f3f3f3f, (head.w >> 4 & 0x0f0f0f0f) | (head.z >> 2 & 0x30303030)};
  return f;
}
