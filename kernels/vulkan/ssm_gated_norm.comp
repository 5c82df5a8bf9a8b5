#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/ssm_gated_norm.comp: the norm of a mixer's output, gated before or after.
//
// Grid: one workgroup for each run of `dim`. weight [dim], or [weight_rows][dim], one for each run of a row, which then
// lies as a matrix of f32 does. Canonical: dot16 over the run; y may be x.
#include "elementary.glsl"
#include "norm.glsl"
#include "pieces.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t x, z, weight, y;
  uint dim;
  float eps;
  uint gate_first, weight_rows;
};

real gated(float x, float z, uint gate_first) {
  if (gate_first == 0) return x;
  return silu_of(z) * x;
}
real weight_of(uint64_t weight, uint rows, uint i, uint dim) {
  if (rows == 0) return real_at(weight, i);
  return real_at(weight, real_place(group_x() % rows, i, dim));
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint64_t run = uint64_t(group_x()) * args.dim * 4, x = args.x + run, z = args.z + run;
  real chain = 0.0;
  for (uint i = lane_id(); i < chain_end(args.dim); i += 16) {
    real value = gated(real_at(x, i), real_at(z, i), args.gate_first);
    chain = zrt_fma(value, value, chain);
  }
  real scale = inverse_root(chain, args.dim, args.eps);
  let_read();
  for (uint i = lane_id(); i < args.dim; i += kNormLanes) {
    real gate = real_at(z, i);
    real value = gated(real_at(x, i), gate, args.gate_first) * scale *
                 (weight_of(args.weight, args.weight_rows, i, args.dim) + 0.0);
    if (args.gate_first == 0) value = silu_of(gate) * value;
    put_real(args.y + run, i, value);
  }
}
