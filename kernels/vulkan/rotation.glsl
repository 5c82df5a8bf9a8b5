// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/rotation.glsl: rotary position embedding of pairs of a head's elements.
#ifndef ZRT_ROTATION
#define ZRT_ROTATION

#include "elementary.glsl"

struct Rotation {
  uint n_rot, neox;
  float magnitude;
};

/// The elements of pair `i`.
uint first_of(Rotation r, uint i) { return r.neox != 0 ? i : 2 * i; }
uint second_of(Rotation r, uint i) { return r.neox != 0 ? i + r.n_rot / 2 : 2 * i + 1; }

real2 rotated(Rotation r, uint position, float frequency, float x0, float x1) {
  real angle = float(position) * frequency;
  const SinCos turn = sincos_of(angle);
  real cosine = turn.cosine * r.magnitude;
  real sine = turn.sine * r.magnitude;
  real first = x1 * sine;
  real second = x1 * cosine;
  return vec2(zrt_fma(x0, cosine, -first), zrt_fma(x0, sine, second));
}

#endif
