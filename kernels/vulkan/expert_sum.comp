#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/expert_sum.comp: the weighted sum of a token's experts.
//
// branch [tokens][used][cols]. Grid: (ceil(cols / 256), tokens). Canonical: a chain in the order of the ids from sum, or
// from +0. An id that does not count adds nothing, and sets fault. scale [experts] and sum may be absent; y may be sum.
#include "arithmetic.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t branch, ids, weights, scale, sum, y, fault;
  uint cols, used, experts;
};

real weight_of(Arguments args, uint64_t pair, uint id) {
  real weight = real_at(args.weights, pair);
  if (args.scale != 0) weight = weight * real_at(args.scale, id);
  return weight;
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint i = group_x() * 256 + lane_id();
  if (i >= args.cols) return;
  const uint64_t first = uint64_t(group_y()) * args.used, at = uint64_t(group_y()) * args.cols + i;
  real total = 0.0;
  if (args.sum != 0) total = real_at(args.sum, at);
  int last = -1;
  for (uint64_t pair = first; pair < first + args.used; ++pair) {
    const int id = int(word_at(args.ids, pair));
    if (id > last && uint(id) < args.experts) {
      last = id;
      total = zrt_fma(weight_of(args, pair, id), real_at(args.branch, pair * args.cols + i), total);
    } else if (i == 0) {
      put_word(args.fault, 0, 1);
    }
  }
  put_real(args.y, at, total);
}
