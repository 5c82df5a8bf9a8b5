#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/weight_scale.comp: x * weight[0], element by element.
//
// Grid: ceil(count / 256). Canonical; y may be x.
#include "memory.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t x, weight, y;
  uint count;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint i = group_x() * 256 + lane_id();
  if (i >= args.count) return;
  real scaled = real_at(args.x, i) * real_at(args.weight, 0);
  put_real(args.y, i, scaled);
}
