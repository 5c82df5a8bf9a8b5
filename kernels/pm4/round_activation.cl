// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/round_activation.cl: activations as 8-bit integers, one scale per 32, as quant/activation.hpp rounds.
//
// Grid: ceil(groups / 8), where groups = tokens * cols / 32; one wave rounds one group. Exact.
#include "elementary.h"

ZRT_KERNEL(256) round_activation_q8_32(global const float* x, global char* q, global float* d, uint groups) {
  const uint group = group_x() * 8 + lane_id() / 32;
  if (group >= groups) return;
  const float value = x[(ulong)group_x() * 256 + lane_id()];
  // The order of magnitudes is the order of their bits, and a NaN is above them all.
  uint largest = float_to_bits(value) & 0x7fffffffu;
  for (uint mask = 16; mask > 0; mask /= 2) {
    const uint other = across(largest, mask);
    largest = other > largest ? other : largest;
  }
  const float inverse = 127.0f / bits_to_float(largest);
  const bool finite = largest < 0x7f800000u;
  const bool rounds = finite && float_to_bits(inverse) < 0x7f800000u;
  const float rounded = larger(-127.0f, smaller(127.0f, round_even(value * inverse)));
  q[(ulong)group_x() * 256 + lane_id()] = rounds ? (char)rounded : 0;
  if (lane_id() % 32 == 0)
    d[group] = rounds ? bits_to_float(largest) / 127.0f : finite ? 0.0f : bits_to_float(0x7fc00000u);
}
