// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/moe_route.cl: which experts a token takes, with which weights, from its logits.
//
// Grid: tokens. At most 1024 experts. Canonical: moe_gate_topk's orders; an expert is chosen if fewer than `used` go
// before it, so that no lane waits for another's choice. `gating` is Gating's number; selection_bias may be null.
#include "dot16.h"
#include "elementary.h"

#define LANES 128
#define MOST 1024

enum Gating { softmax_all, sigmoid_each, softmax_selected };

/// That score a of number i goes before score b of number j: larger ones first, then smaller numbers, NaN last.
ZRT_INLINE bool before(float a, uint i, float b, uint j) {
  if (a != a || b != b) return (a != a) == (b != b) ? i < j : b != b;
  return a > b || (a == b && i < j);
}

ZRT_INLINE void softmax(local float* x, uint n) {
  float top = -__builtin_inff();
  for (uint i = 0; i < n; ++i) top = larger(x[i], top);
  meet();
  for (uint i = lane_id(); i < n; i += LANES) x[i] = exp_of(x[i] - top);
  meet();
  float chain = 0.0f;
  for (uint i = lane_id() % 16; i < n; i += 16) chain += x[i];
  const float sum = tree16(chain);
  meet();
  for (uint i = lane_id(); i < n; i += LANES) x[i] = x[i] / sum;
  meet();
}

/// The sum of a group's two best, in the order of their numbers.
ZRT_INLINE float best_two(local const float* choice, uint size) {
  uint first = 0, second = ~0u;
  for (uint i = 1; i < size; ++i) {
    if (before(choice[i], i, choice[first], first))
      second = first, first = i;
    else if (second == ~0u || before(choice[i], i, choice[second], second))
      second = i;
  }
  const uint low = least(first, second), high = first < second ? second : first;
  return 0.0f + choice[low] + choice[high];
}

ZRT_KERNEL(LANES)
moe_route(global const float* logits, global const float* selection_bias, global int* ids, global float* weights,
          uint experts, uint used, uint groups, uint groups_used, float scale, uint gating, uint normalise) {
  local float score[MOST], choice[MOST], sums[MOST], chosen_weights[MOST];
  local uint open[MOST], chosen[MOST];
  logits += (ulong)group_x() * experts;
  ids += (ulong)group_x() * used;
  weights += (ulong)group_x() * used;
  for (uint e = lane_id(); e < experts; e += LANES)
    score[e] = gating == sigmoid_each ? sigmoid_of(logits[e]) : logits[e];
  meet();
  if (gating == softmax_all) softmax(score, experts);
  for (uint e = lane_id(); e < experts; e += LANES) {
    choice[e] = selection_bias == 0 ? score[e] : score[e] + selection_bias[e];
    open[e] = 1;
  }
  meet();
  if (groups_used < groups) {
    const uint size = experts / groups;
    for (uint g = lane_id(); g < groups; g += LANES) sums[g] = best_two(choice + g * size, size);
    meet();
    for (uint g = lane_id(); g < groups; g += LANES) {
      uint ahead = 0;
      for (uint i = 0; i < groups; ++i) ahead += i != g && before(sums[i], i, sums[g], g) ? 1 : 0;
      for (uint i = 0; i < size; ++i) open[g * size + i] = ahead < groups_used ? 1 : 0;
    }
    meet();
  }
  for (uint e = lane_id(); e < experts; e += LANES) {
    const float mine = choice[e];
    uint ahead = 0;
    for (uint i = 0; i < experts; ++i) ahead += open[i] != 0 && i != e && before(choice[i], i, mine, e) ? 1 : 0;
    chosen[e] = open[e] != 0 && ahead < used ? 1 : 0;
  }
  meet();
  for (uint e = lane_id(); e < experts; e += LANES) {
    if (chosen[e] == 0) continue;
    uint at = 0;
    for (uint i = 0; i < e; ++i) at += chosen[i];
    ids[at] = (int)e;
    chosen_weights[at] = score[e];
  }
  meet();
  if (gating == softmax_selected) softmax(chosen_weights, used);
  float sum = 0.0f;
  for (uint i = 0; i < used; ++i) sum += chosen_weights[i];
  if (sum < 0x1p-14f) sum = 0x1p-14f;
  for (uint i = lane_id(); i < used; i += LANES) {
    const float weight = normalise != 0 ? chosen_weights[i] / sum : chosen_weights[i];
    weights[i] = weight * scale;
  }
}
