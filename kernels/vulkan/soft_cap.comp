#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/soft_cap.comp: scale and soft cap of logits, what lm_head does behind its product; in place.
//
// Grid: ceil(count / 256). Canonical. A cap of 0 caps nothing.
#include "elementary.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t logits;
  uint count;
  float scale, cap;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint i = group_x() * 256 + lane_id();
  if (i >= args.count) return;
  real x = real_at(args.logits, i) * args.scale;
  real capped = args.cap * tanh_of(zrt_div(x, args.cap));
  put_real(args.logits, i, args.cap == 0.0 ? x : capped);
}
