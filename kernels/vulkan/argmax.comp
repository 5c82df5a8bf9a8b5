#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/argmax.comp: the index of the largest logit of each row: the smallest among equals, never a NaN's.
//
// Grid: one workgroup for each row. Exact. A row of NaNs alone gives 0. A lane takes cols / 1024 + 66 turns of a loop.
#include "order.glsl"

ZRT_LANES(1024);
ZRT_ARGUMENTS {
  uint64_t logits, token;
  uint cols;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint64_t logits = args.logits + uint64_t(group_x()) * args.cols * 4;
  uint key = 0xffffffffu, id = 0xffffffffu;
  for (uint i = lane_id(); i < args.cols; i += 1024) {
    const uint other = key_of(real_at(logits, i));
    if (comes_before(other, i, key, id)) {
      key = other;
      id = i;
    }
  }
  tile_keys[lane_id()] = key;
  tile_ids[lane_id()] = id;
  find_first();
  if (lane_id() == 0) put_word(args.token, group_x(), tile_ids[0]);
}
