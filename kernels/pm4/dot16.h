// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/dot16.h: the order dot16 of a sum, with its sixteen lanes in the lanes of a half wave.
#pragma once

#include "place.h"

/// Sums sixteen chains by dot16's tree. Both halves of a wave hold the same chains in lanes 0 to 15 of the half; every
/// lane gets the sum. That lane j takes j + 8 or j - 8 changes no bit: an addition of two numbers commutes.
ZRT_INLINE float tree16(float chain) {
  for (uint half_width = 8; half_width > 0; half_width /= 2)
    chain += bits_to_float(across(float_to_bits(chain), half_width));
  return chain;
}
