// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/round_activation.glsl: activations as 8-bit integers, one scale per group, as quant/activation.hpp
// rounds: exact.
#ifndef ZRT_ROUND_ACTIVATION
#define ZRT_ROUND_ACTIVATION

#include "elementary.glsl"

shared uint zrt_magnitudes[256];

/// The largest magnitude among `width` neighbours, a power of two, as bits: their order is that of the magnitudes, a NaN
/// above them all. All 256 lanes take part.
uint largest_of(uint bits, const uint width) {
  const uint lane = lane_id(), first = lane & ~(width - 1);
  uint largest = bits & 0x7fffffffu;
  for (uint half_width = width / 2; half_width > 0; half_width /= 2) {
    zrt_magnitudes[lane] = largest;
    meet();
    largest = max(largest, zrt_magnitudes[first + (lane - first + half_width) % width]);
    meet();
  }
  return largest;
}

/// Rounds element `at` of a group with that largest magnitude; the group's `first` lane writes the scale.
void round_one(uint64_t x, uint64_t q, uint64_t d, uint64_t at, uint largest, uint64_t group, bool first) {
  real inverse = zrt_div(127.0, uintBitsToFloat(largest));
  const bool is_finite = largest < 0x7f800000u;
  const bool rounds = is_finite && floatBitsToUint(inverse) < 0x7f800000u;
  real scaled = real_at(x, at) * inverse;
  real rounded = larger(-127.0, smaller(127.0, roundEven(scaled)));
  put_byte(q, at, rounds ? uint(int(rounded)) : 0);
  real scale = zrt_div(uintBitsToFloat(largest), 127.0);
  if (first) put_word(d, group, rounds ? floatBitsToUint(scale) : is_finite ? 0 : 0x7fc00000u);
}

#endif
