#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/experts_dot16.comp: a stack of matrices of F32, F16 or BF16 times activations of f32: experts.glsl.
//
// makes: experts_f32 ELEMENT=32
// makes: experts_f16 ELEMENT=16
// makes: experts_bf16 ELEMENT=116
// Canonical: the order dot16. A lane takes cols / 16 + used turns of a loop.
#include "dot16_product.glsl"
#include "experts.glsl"

ZRT_LANES(32);
ZRT_ARGUMENTS {
  uint64_t w, x;
  ExpertArguments of;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const ExpertArguments a = args.of;
  const ExpertRow here = expert_row(a);
  if (!here.counts)
    put_nothing(a, here);
  else if (here.is_row)
    put_expert(a, here, row_product(args.w, here.place, args.x + uint64_t(here.x_row) * a.cols * 4, a.cols));
}
