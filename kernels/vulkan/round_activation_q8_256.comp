#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/round_activation_q8_256.comp: activations in groups of 256.
//
// Grid: groups.
#include "round_activation.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS { uint64_t x, q, d; };

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint64_t at = uint64_t(group_x()) * 256 + lane_id();
  const uint largest = largest_of(word_at(args.x, at), 256);
  round_one(args.x, args.q, args.d, at, largest, group_x(), lane_id() == 0);
}
