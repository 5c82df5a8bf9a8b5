#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/residual_add.comp: x + scale * branch, element by element.
//
// Grid: ceil(count / 256). Canonical: one fused step. An operand may be the output.
#include "arithmetic.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t x, branch, y;
  uint count;
  float scale;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint i = group_x() * 256 + lane_id();
  if (i < args.count) put_real(args.y, i, zrt_fma(args.scale, real_at(args.branch, i), real_at(args.x, i)));
}
