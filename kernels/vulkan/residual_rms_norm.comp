#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/residual_rms_norm.comp: the residual sum that closes a block, and its root-mean-square norm.
//
// Grid: one workgroup for each run of `dim`. Canonical: dot16 over the run. weight may be absent, sum and y may be x and
// branch.
#include "norm.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t x, branch, weight, sum, y;
  uint dim;
  float eps, weight_offset, branch_scale;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint64_t run = uint64_t(group_x()) * args.dim * 4, x = args.x + run, branch = args.branch + run;
  real chain = 0.0;
  for (uint i = lane_id(); i < chain_end(args.dim); i += 16) {
    real value = zrt_fma(args.branch_scale, real_at(branch, i), real_at(x, i));
    chain = zrt_fma(value, value, chain);
  }
  real scale = inverse_root(chain, args.dim, args.eps);
  let_read();
  for (uint i = lane_id(); i < args.dim; i += kNormLanes) {
    real value = zrt_fma(args.branch_scale, real_at(branch, i), real_at(x, i));
    real scaled = value * scale;
    put_real(args.sum + run, i, value);
    put_real(args.y + run, i, weighted(scaled, args.weight, i, args.weight_offset));
  }
}
