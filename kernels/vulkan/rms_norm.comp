#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/rms_norm.comp: root-mean-square normalisation.
//
// Grid: one workgroup for each run of `dim`. Canonical: dot16 over the run. weight may be absent, y may be x.
#include "norm.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t x, weight, y;
  uint dim;
  float eps, weight_offset;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint64_t run = uint64_t(group_x()) * args.dim * 4, x = args.x + run, y = args.y + run;
  real chain = 0.0;
  for (uint i = lane_id(); i < chain_end(args.dim); i += 16) {
    real value = real_at(x, i);
    chain = zrt_fma(value, value, chain);
  }
  real scale = inverse_root(chain, args.dim, args.eps);
  // Other lanes may still read what this one is about to write, where y is x.
  let_read();
  for (uint i = lane_id(); i < args.dim; i += kNormLanes) {
    real scaled = real_at(x, i) * scale;
    put_real(y, i, weighted(scaled, args.weight, i, args.weight_offset));
  }
}
