#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/layer_norm_runs.comp: mean and variance of each run taken out, then scale and shift.
//
// Grid: one workgroup for each run of `dim`. Canonical: dot16 over the run; bias may be absent, y may be x.
#include "norm.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t x, weight, bias, y;
  uint dim;
  float eps;
};

real mean_of(uint64_t x, uint dim) {
  real chain = 0.0;
  for (uint i = lane_id(); i < chain_end(dim); i += 16) chain = chain + real_at(x, i);
  return zrt_div(tree16(chain), float(dim));
}
real chain_of_squares(uint64_t x, uint dim, float mean) {
  real chain = 0.0;
  for (uint i = lane_id(); i < chain_end(dim); i += 16) {
    real centred = real_at(x, i) - mean;
    chain = chain + centred * centred;
  }
  return chain;
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint64_t run = uint64_t(group_x()) * args.dim * 4, x = args.x + run;
  real mean = mean_of(x, args.dim);
  real scale = inverse_root(chain_of_squares(x, args.dim, mean), args.dim, args.eps);
  let_read();
  for (uint i = lane_id(); i < args.dim; i += kNormLanes) {
    real scaled = (real_at(x, i) - mean) * scale * real_at(args.weight, i);
    if (args.bias != 0) scaled = scaled + real_at(args.bias, i);
    put_real(args.y + run, i, scaled);
  }
}
