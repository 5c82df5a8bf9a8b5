// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/floats4.h: the four-bit floats of MXFP4, and the power of two of a block.
#pragma once

#include "place.h"

/// Twice the floats of four half bytes, as signed bytes.
ZRT_INLINE uint twice_floats(uint halves) {
  const uint magnitude = halves & 0x07070707;
  const uint above = __builtin_amdgcn_perm(0x0c080604, 0x03020100, magnitude);
  const uint below = __builtin_amdgcn_perm(0xf4f8fafc, 0xfdfeff00, magnitude);
  // A selector of 13 gives 255, one of 5 a byte of the first operand.
  const uint mask = __builtin_amdgcn_perm(0, 0, (halves & 0x08080808) | 0x05050505);
  return (above & ~mask) | (below & mask);
}

/// Half of the power of two that an exponent stands for: what twice a float is multiplied by.
ZRT_INLINE float half_power(uint exponent) {
  return __builtin_ldexpf(1.0f, (int)exponent - 128);
}
