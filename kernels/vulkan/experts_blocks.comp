#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/experts_blocks.comp: a stack of matrices of a block type times rounded activations: experts.glsl.
//
// makes: experts_q8_0 TYPE_Q8_0
// makes: experts_q4_0 TYPE_Q4_0
// makes: experts_mxfp4 TYPE_MXFP4
// makes: experts_q4_k TYPE_Q4_K
// makes: experts_q5_k TYPE_Q5_K
// makes: experts_q6_k TYPE_Q6_K
// makes one for each TYPE of plane_types.glsl: experts_
// Canonical: the order `blocks`.
#include "blocks_product.glsl"
#include "experts.glsl"

ZRT_LANES(32);
ZRT_ARGUMENTS {
  Parts m;
  uint64_t xq, xd;
  ExpertArguments of;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const ExpertArguments a = args.of;
  const ExpertRow here = expert_row(a);
  if (!here.counts)
    put_nothing(a, here);
  else if (here.is_row)
    put_expert(a, here, row_product(args.m, here.place, Activations(args.xq, args.xd, a.cols), here.x_row));
}
