// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/argmax.cl: the index of the largest logit of each row: the smallest among equals, never a NaN's.
//
// Grid: one workgroup for each row. Exact. A row of NaNs alone gives 0.
#include "place.h"

#define LANES 1024

struct Best {
  float value;
  uint index;  // ~0 where there is none
};

ZRT_INLINE bool beats(struct Best a, struct Best b) {
  if (a.index == ~0u || b.index == ~0u) return a.index != ~0u;
  return a.value > b.value || (a.value == b.value && a.index < b.index);
}

ZRT_KERNEL(LANES) argmax(global const float* logits, global int* token, uint cols) {
  local float values[LANES / 32];
  local uint indices[LANES / 32];
  logits += (ulong)group_x() * cols;
  struct Best best = {0.0f, ~0u};
#pragma unroll 4
  for (uint i = lane_id(); i < cols; i += LANES) {
    const float x = logits[i];
    // The lane's indices ascend, so an equal one comes later and does not win.
    if (best.index == ~0u ? x == x : x > best.value) best.value = x, best.index = i;
  }
  for (uint mask = 16; mask > 0; mask /= 2) {
    const struct Best other = {bits_to_float(across(float_to_bits(best.value), mask)), across(best.index, mask)};
    if (beats(other, best)) best = other;
  }
  if (lane_id() % 32 == 0) values[lane_id() / 32] = best.value, indices[lane_id() / 32] = best.index;
  meet();
  if (lane_id() != 0) return;
  for (uint i = 1; i < LANES / 32; ++i) {
    const struct Best other = {values[i], indices[i]};
    if (beats(other, best)) best = other;
  }
  token[group_x()] = best.index == ~0u ? 0 : (int)best.index;
}
