// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/round_activation.cl: activations as 8-bit integers, one scale per 32 or 256, as quant/activation.hpp rounds.
//
// Grid: ceil(groups / 8), where groups = tokens * cols / 32 and one wave rounds one group; or groups of 256, a workgroup
// for each. Exact.
#include "elementary.h"

/// The largest magnitude of the wave's values, as bits: their order is that of the magnitudes, a NaN above them all.
ZRT_INLINE uint largest_of(float value) {
  uint largest = float_to_bits(value) & 0x7fffffffu;
  for (uint mask = 16; mask > 0; mask /= 2) {
    const uint other = across(largest, mask);
    largest = other > largest ? other : largest;
  }
  return largest;
}

/// Rounds this lane's value of a group with that largest magnitude; `first` of its lanes writes the scale.
ZRT_INLINE void round_one(float value, uint largest, global char* q, global float* d, bool first) {
  const float inverse = 127.0f / bits_to_float(largest);
  const bool finite = largest < 0x7f800000u;
  const bool rounds = finite && float_to_bits(inverse) < 0x7f800000u;
  const float rounded = larger(-127.0f, smaller(127.0f, round_even(value * inverse)));
  *q = rounds ? (char)rounded : 0;
  if (first)
    *d = rounds ? bits_to_float(largest) / 127.0f : finite ? 0.0f : bits_to_float(0x7fc00000u);
}

ZRT_KERNEL(256) round_activation_q8_32(global const float* x, global char* q, global float* d, uint groups) {
  const uint group = group_x() * 8 + lane_id() / 32;
  if (group >= groups) return;
  const ulong at = (ulong)group_x() * 256 + lane_id();
  const float value = x[at];
  round_one(value, largest_of(value), q + at, d + group, lane_id() % 32 == 0);
}

ZRT_KERNEL(256) round_activation_q8_256(global const float* x, global char* q, global float* d) {
  local uint magnitudes[8];
  const ulong at = (ulong)group_x() * 256 + lane_id();
  const float value = x[at];
  uint largest = largest_of(value);
  if (lane_id() % 32 == 0) magnitudes[lane_id() / 32] = largest;
  meet();
  for (uint i = 0; i < 8; ++i) largest = magnitudes[i] > largest ? magnitudes[i] : largest;
  round_one(value, largest, q + at, d + group_x(), lane_id() == 0);
}
