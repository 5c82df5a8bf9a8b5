#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/moe_route.comp: which experts a token takes, with which weights, from its logits.
//
// Grid: tokens. At most 1024 experts. Canonical: moe_gate_topk's orders; an expert is chosen if fewer than `used` go
// before it, so that no lane waits for another's choice. `gating` is Gating's number; selection_bias may be absent.
//
// A lane takes less than (experts / 128 + 1) * (2 * experts + 64) + 4 * experts turns of loops: of 1024 experts 23,200.
#include "dot16.glsl"
#include "elementary.glsl"

ZRT_LANES(128);
ZRT_ARGUMENTS {
  uint64_t logits, selection_bias, ids, weights;
  uint experts, used, groups, groups_used;
  float scale;
  uint gating, normalise;
};

const uint kLanes = 128, kMost = 1024, kSoftmaxAll = 0, kSigmoidEach = 1, kSoftmaxSelected = 2;

/// Scores of all experts, and behind them the weights of the chosen; before these are known, the groups' sums.
shared float scores[2 * kMost];
const uint kChosen = kMost;
shared float choice[kMost];
/// A bit for each expert.
shared uint open_bits[kMost / 32], chosen_bits[kMost / 32];

bool is_open(uint e) { return (open_bits[e / 32] >> e % 32 & 1u) != 0; }

/// That score a of number i goes before score b of number j: larger ones first, then smaller numbers, NaN last.
bool before(float a, uint i, float b, uint j) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) == is_nan(b) ? i < j : is_nan(b);
  return a > b || (a == b && i < j);
}

/// Softmax of `n` scores from `first` on.
void softmax(uint first, uint n) {
  real top = -infinity();
  for (uint i = 0; i < n; ++i) top = larger(scores[first + i], top);
  meet();
  for (uint i = lane_id(); i < n; i += kLanes) {
    real below = scores[first + i] - top;
    scores[first + i] = exp_of(below);
  }
  meet();
  real chain = 0.0;
  for (uint i = lane_id(); i < chain_end(n); i += 16) chain = chain + scores[first + i];
  real sum = tree16(chain);
  meet();
  for (uint i = lane_id(); i < n; i += kLanes) scores[first + i] = zrt_div(scores[first + i], sum);
  meet();
}

/// The sum of a group's two best, in the order of their numbers.
real best_two(uint begin, uint size) {
  uint first = 0, second = 0xffffffffu;
  for (uint i = 1; i < size; ++i) {
    if (before(choice[begin + i], i, choice[begin + first], first)) {
      second = first;
      first = i;
    } else if (second == 0xffffffffu || before(choice[begin + i], i, choice[begin + second], second)) {
      second = i;
    }
  }
  real lower = 0.0 + choice[begin + min(first, second)];
  return lower + choice[begin + max(first, second)];
}

/// Closes the experts of all groups but the `used` best.
void close_groups(uint experts, uint groups, uint used) {
  const uint size = experts / groups;
  for (uint g = lane_id(); g < groups; g += kLanes) scores[kChosen + g] = best_two(g * size, size);
  meet();
  for (uint g = lane_id(); g < groups; g += kLanes) {
    uint ahead = 0;
    for (uint i = 0; i < groups; ++i)
      if (i != g && before(scores[kChosen + i], i, scores[kChosen + g], g)) ++ahead;
    for (uint i = g * size; i < (ahead < used ? 0 : g * size + size); ++i) atomicAnd(open_bits[i / 32], ~(1u << i % 32));
  }
  meet();
}

void choose(uint experts, uint used) {
  for (uint e = lane_id(); e < experts; e += kLanes) {
    if (!is_open(e)) continue;
    uint ahead = 0;
    for (uint i = 0; i < experts; ++i)
      if (i != e && is_open(i) && before(choice[i], i, choice[e], e)) ++ahead;
    if (ahead < used) atomicOr(chosen_bits[e / 32], 1u << e % 32);
  }
  meet();
}

/// Writes the chosen in the order of their numbers.
void put_ids(uint64_t ids, uint experts) {
  for (uint e = lane_id(); e < experts; e += kLanes) {
    if ((chosen_bits[e / 32] >> e % 32 & 1u) == 0) continue;
    uint at = bitCount(chosen_bits[e / 32] & (1u << e % 32) - 1);
    for (uint i = 0; i < e / 32; ++i) at += bitCount(chosen_bits[i]);
    put_word(ids, at, e);
    scores[kChosen + at] = scores[e];
  }
  meet();
}

void put_weights(Arguments args, uint64_t weights) {
  real sum = 0.0;
  for (uint i = 0; i < args.used; ++i) sum = sum + scores[kChosen + i];
  if (sum < 6.103515625e-05) sum = 6.103515625e-05;
  for (uint i = lane_id(); i < args.used; i += kLanes) {
    real weight = scores[kChosen + i];
    if (args.normalise != 0) weight = zrt_div(weight, sum);
    real scaled = weight * args.scale;
    put_real(weights, i, scaled);
  }
}

void begin(Arguments args, uint64_t logits) {
  if (lane_id() < kMost / 32) {
    open_bits[lane_id()] = 0xffffffffu;
    chosen_bits[lane_id()] = 0;
  }
  for (uint e = lane_id(); e < args.experts; e += kLanes) {
    real logit = real_at(logits, e);
    scores[e] = args.gating == kSigmoidEach ? sigmoid_of(logit) : logit;
  }
  meet();
  if (args.gating == kSoftmaxAll) softmax(0, args.experts);
  for (uint e = lane_id(); e < args.experts; e += kLanes) {
    real biased = scores[e];
    if (args.selection_bias != 0) biased = scores[e] + real_at(args.selection_bias, e);
    choice[e] = biased;
  }
  meet();
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint64_t token = group_x();
  begin(args, args.logits + token * args.experts * 4);
  if (args.groups_used < args.groups) close_groups(args.experts, args.groups, args.groups_used);
  choose(args.experts, args.used);
  put_ids(args.ids + token * args.used * 4, args.experts);
  if (args.gating == kSoftmaxSelected) softmax(kChosen, args.used);
  put_weights(args, args.weights + token * args.used * 4);
}
