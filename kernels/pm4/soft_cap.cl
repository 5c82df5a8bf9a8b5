// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/soft_cap.cl: scale and soft cap of logits, what lm_head does behind its product; in place.
//
// Grid: ceil(count / 256). Canonical. soft_cap 0 caps nothing.
#include "elementary.h"

ZRT_KERNEL(256) soft_cap(global float* logits, uint count, float scale, float cap) {
  const uint i = group_x() * 256 + lane_id();
  if (i >= count) return;
  const float x = logits[i] * scale;
  logits[i] = cap == 0.0f ? x : cap * tanh_of(x / cap);
}
