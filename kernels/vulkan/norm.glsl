// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/norm.glsl: what norms over a run of values share.
//
// A lane takes dim / 16 + dim / 256 turns of a loop.
#ifndef ZRT_NORM
#define ZRT_NORM

#include "dot16.glsl"

const uint kNormLanes = 256;

/// 1 / sqrt(mean + eps) from this lane's chain of squares.
real inverse_root(float chain, uint dim, float eps) {
  real mean = zrt_div(tree16(chain), float(dim));
  real shifted = mean + eps;
  return zrt_div(1.0, zrt_sqrt(shifted));
}
/// `normed` times a weight, which may be absent.
real weighted(float normed, uint64_t weight, uint i, float weight_offset) {
  if (weight == 0) return normed;
  return normed * (real_at(weight, i) + weight_offset);
}

#endif
