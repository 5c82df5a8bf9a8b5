#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/argmax.comp: the index of the largest logit of each row: the smallest among equals, never a NaN's.
//
// Grid: one workgroup for each row. Exact. A row of NaNs alone gives 0. A lane takes cols / 1024 + 10 turns of a loop.
#include "arithmetic.glsl"

ZRT_LANES(1024);
ZRT_ARGUMENTS {
  uint64_t logits, token;
  uint cols;
};

const uint kNone = 0xffffffffu;
struct Best {
  float value;
  uint index;  // kNone where there is none
};

shared float values[1024];
shared uint indices[1024];

bool beats(Best a, Best b) {
  if (a.index == kNone || b.index == kNone) return a.index != kNone;
  return a.value > b.value || (a.value == b.value && a.index < b.index);
}

Best best_of_lane(uint64_t logits, uint cols) {
  Best best = Best(0.0, kNone);
  for (uint i = lane_id(); i < cols; i += 1024) {
    const float x = real_at(logits, i);
    // The lane's indices ascend, so an equal one comes later and does not win.
    if (best.index == kNone ? !is_nan(x) : x > best.value) best = Best(x, i);
  }
  return best;
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint lane = lane_id();
  Best best = best_of_lane(args.logits + uint64_t(group_x()) * args.cols * 4, args.cols);
  for (uint width = 512; width > 0; width /= 2) {
    values[lane] = best.value;
    indices[lane] = best.index;
    meet();
    const Best other = Best(values[(lane + width) % 1024], indices[(lane + width) % 1024]);
    if (lane < width && beats(other, best)) best = other;
    meet();
  }
  if (lane == 0) put_word(args.token, group_x(), best.index == kNone ? 0 : best.index);
}
