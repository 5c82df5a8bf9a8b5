// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/rotation.h: rotary position embedding of pairs of a head's elements.
#pragma once

#include "elementary.h"

typedef struct {
  uint n_rot, neox;
  float magnitude;
} Rotation;

/// The elements of pair `i`.
ZRT_INLINE uint first_of(Rotation r, uint i) { return r.neox ? i : 2 * i; }
ZRT_INLINE uint second_of(Rotation r, uint i) { return r.neox ? i + r.n_rot / 2 : 2 * i + 1; }

ZRT_INLINE float2 rotated(Rotation r, uint position, float frequency, float x0, float x1) {
  const struct SinCos turn = sincos_of((float)position * frequency);
  const float cosine = turn.cos * r.magnitude, sine = turn.sin * r.magnitude;
  return (float2)(__builtin_fmaf(x0, cosine, -(x1 * sine)), __builtin_fmaf(x0, sine, x1 * cosine));
}
