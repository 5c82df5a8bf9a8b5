// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/split_activation.cl: activations of f32 as sums of two of f16 times a power of two, for matmul_relaxed_f16.
//
// Grid: tokens. x [tokens][cols] is (high + low) * scale, a scale for each token: the largest magnitude becomes 2^14 to
// 2^15, so that products neither overflow nor, by what f16 cannot tell from 0, lose more than 2^-38 of that magnitude.
// What is lost of a value is at most 2^-22 of it, or that. A token with an infinity or a NaN has scale NaN.
#include "place.h"

#define LANES 256

ZRT_KERNEL(LANES)
split_activation_f16(global const float* x, global half* high, global half* low, global float* scale, uint cols) {
  local uint magnitudes[LANES / 32];
  const ulong first = (ulong)group_x() * cols;
  uint largest = 0;
  for (uint i = lane_id(); i < cols; i += LANES) {
    const uint magnitude = float_to_bits(x[first + i]) & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  for (uint mask = 16; mask > 0; mask /= 2) {
    const uint other = across(largest, mask);
    largest = other > largest ? other : largest;
  }
  if (lane_id() % 32 == 0) magnitudes[lane_id() / 32] = largest;
  meet();
  for (uint i = 0; i < LANES / 32; ++i) largest = magnitudes[i] > largest ? magnitudes[i] : largest;
  const bool finite = largest < 0x7f800000u;
  // The exponent of the largest as it stands in its bits, from 14 on, so that both factors are normal.
  const uint exponent = largest >> 23 < 15 ? 15 : largest >> 23;
  const float factor = bits_to_float((127 + 127 + 14 - exponent) << 23);
  for (uint i = lane_id(); i < cols; i += LANES) {
    const float value = finite ? x[first + i] * factor : 0.0f;
    const half top = (half)value;
    high[first + i] = top;
    low[first + i] = (half)(value - (float)top);
  }
  if (lane_id() == 0) scale[group_x()] = finite ? bits_to_float((exponent - 14) << 23) : bits_to_float(0x7fc00000u);
}
