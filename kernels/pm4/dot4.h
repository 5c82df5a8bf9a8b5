// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/dot4.h: sums of 16 products of signed bytes.
#pragma once

#include "place.h"

/// Goes on with `sum` by 16 products of signed bytes.
ZRT_INLINE int dot_of(uint4 a, uint4 b, int sum) {
  sum = __builtin_amdgcn_sudot4(true, a.x, true, b.x, sum, false);
  sum = __builtin_amdgcn_sudot4(true, a.y, true, b.y, sum, false);
  sum = __builtin_amdgcn_sudot4(true, a.z, true, b.z, sum, false);
  return __builtin_amdgcn_sudot4(true, a.w, true, b.w, sum, false);
}
/// The sum of 16 signed bytes.
ZRT_INLINE int sum_of(uint4 a) { return dot_of((uint4)0x01010101, a, 0); }
