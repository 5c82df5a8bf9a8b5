// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/floats4.glsl: the four-bit floats of MXFP4, and the power of two of a block.
#ifndef ZRT_FLOATS4
#define ZRT_FLOATS4

#include "memory.glsl"

/// Twice the float of the lowest four bits.
int twice_float(uint nibble) {
  const uint magnitudes = (nibble & 4u) == 0 ? 0x03020100u : 0x0c080604u;
  const int magnitude = int(magnitudes >> (nibble & 3u) * 8 & 255u);
  return (nibble & 8u) == 0 ? magnitude : -magnitude;
}
/// Those of four bytes, as signed bytes.
uint twice_floats(uint bytes) {
  uint all = 0;
  [[unroll]] for (uint i = 0; i < 4; ++i) all |= (uint(twice_float(bytes >> 8 * i)) & 255u) << 8 * i;
  return all;
}

/// Half of the power of two that an exponent stands for: what twice a float is multiplied by.
real half_power(uint exponent) {
  return uintBitsToFloat(exponent < 2 ? 0x00200000u << exponent : exponent - 1 << 23);
}

#endif
