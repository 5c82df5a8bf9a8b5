#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/round_activation_q8_32.comp: activations in groups of 32.
//
// Grid: ceil(groups / 8), where groups = tokens * cols / 32.
#include "round_activation.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t x, q, d;
  uint groups;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint group = group_x() * 8 + lane_id() / 32;
  const uint64_t at = uint64_t(group_x()) * 256 + lane_id();
  const bool present = group < args.groups;
  const uint largest = largest_of(present ? word_at(args.x, at) : 0, 32);
  if (present) round_one(args.x, args.q, args.d, at, largest, group, lane_id() % 32 == 0);
}
