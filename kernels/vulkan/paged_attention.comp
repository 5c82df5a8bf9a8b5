#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/paged_attention.comp: causal attention of one query of each token's slot over its pages.
//
// makes: paged_attention_f32 PAGE=32
// makes: paged_attention_f16 PAGE=16
// makes: paged_attention_bf16 PAGE=116
// Grid: (heads, tokens). A workgroup takes one head: 64 lanes score the 64 keys of a step, then all 128 sum values, a
// lane up to four of the value's at most 512 dims; keys have at most 1024. sinks may be absent. Canonical: NUMERICS,
// Attention; steps of 64 and segments of 512 positions, one after the other.
//
// Of 64 keys a lane takes key_dim / 8 + 26 * value_dim / 128 + 13 turns of loops: of 128 dims 55, so that 65,535 turns
// are 75,000 positions.
#include "dot16.glsl"
#include "elementary.glsl"
#include "page.glsl"

ZRT_LANES(128);
ZRT_ARGUMENTS {
  uint64_t q, sinks, positions, slots, table, pages, y;
  uint heads, kv_heads, key_dim, value_dim;
  float scale, soft_cap;
  uint window, pages_per_slot, page_bytes, chunk;
};

const uint kLanes = 128, kKeys = 64, kSegment = 512, kKeyDims = 1024, kDims = 512;

shared float query[kKeyDims], scores[kKeys];
/// The weighted sums of values of a segment and of those before it; a lane has those of its own dims.
shared float part[kDims], total[kDims];

/// The sum of weights behind a maximum.
struct Weights {
  float m, l;
};

/// Adds the sum of later keys, whose values' are in `part`, or zeros.
Weights merged(Weights before, Weights next, bool has_values, uint dims) {
  real top = larger(next.m, before.m);
  real fades = before.m - top;
  real comes = next.m - top;
  real a = exp_of(fades);
  real b = exp_of(comes);
  real l = next.l * b;
  for (uint i = lane_id(); i < dims; i += kLanes) {
    real o = (has_values ? part[i] : 0.0) * b;
    total[i] = zrt_fma(total[i], a, o);
  }
  return Weights(top, zrt_fma(before.l, a, l));
}

vec4 four_scores(uint i) { return vec4(scores[i], scores[i + 1], scores[i + 2], scores[i + 3]); }
/// Four of dot16's lanes over the 64 probabilities.
real4 chain_of(uint i) {
  real4 sum = four_scores(i * 4) + four_scores(i * 4 + 16);
  sum = sum + four_scores(i * 4 + 32);
  return sum + four_scores(i * 4 + 48);
}
/// The 64 probabilities by dot16's lanes and tree.
real sum_of_scores() {
  return tree_of(chain_of(0), chain_of(1), chain_of(2), chain_of(3));
}

/// The largest of the scores and of `top`; the scores that are not seen are negative infinity.
real top_of_scores(float top) {
  for (uint p = 0; p < kKeys; p += 8)
    [[unroll]] for (uint i = 0; i < 8; ++i) top = larger(scores[p + i], top);
  return top;
}

real score_of(Arguments args, uint64_t page, uint key) {
  real score = 0.0;
  uint i = 0;
  for (; i + 8 <= args.key_dim; i += 8)
    [[unroll]] for (uint j = 0; j < 8; ++j)
      score = zrt_fma(query[i + j], load_element(page, key + (i + j) * kPageTokens), score);
  for (; i < args.key_dim; ++i) score = zrt_fma(query[i], load_element(page, key + i * kPageTokens), score);
  if (args.soft_cap != 0.0) score = args.soft_cap * tanh_of(zrt_div(score, args.soft_cap));
  return score;
}

/// What a workgroup reads: the pages of its token's slot, and the positions of a step.
struct Step {
  Page page;
  uint kv_head, slot, begin, from, to;
};

uint64_t page_at(Arguments args, Step s, uint position) {
  return page_of(args.pages, args.table, s.slot, position, args.pages_per_slot, args.page_bytes);
}

/// Goes on with the values of this lane's dims by those of a step.
void add_values(Arguments args, Step s, float rescale) {
  for (uint i = lane_id(); i < args.value_dim; i += kLanes) {
    real o = part[i] * rescale;
    for (uint first = s.begin; first <= s.to; first += kPageTokens) {
      if (first + kPageTokens <= s.from) continue;
      const uint64_t at = page_at(args, s, first);
      for (uint p = 0; p < kPageTokens; p += 4)
        [[unroll]] for (uint j = 0; j < 4; ++j) {
          const uint seen = first + p + j;
          if (seen >= s.from && seen <= s.to)
            o = zrt_fma(scores[seen - s.begin], load_element(at, value_index(s.page, s.kv_head, p + j) + i), o);
        }
    }
    part[i] = o;
  }
}

/// One step: positions `from` to `to` are seen, at least one.
Weights take_step(Arguments args, Step s, Weights before) {
  const uint position = s.begin + lane_id();
  const bool sees = lane_id() < kKeys && position >= s.from && position <= s.to;
  real score = -infinity();
  if (sees)
    score = score_of(args, page_at(args, s, position), key_index(s.page, s.kv_head, position % kPageTokens));
  if (lane_id() < kKeys) scores[lane_id()] = score;
  meet();
  real top = top_of_scores(before.m);
  meet();
  real below = score - top;
  if (lane_id() < kKeys) scores[lane_id()] = sees ? exp_of(below) : 0.0;
  meet();
  real fades = before.m - top;
  real rescale = before.m == top ? 1.0 : exp_of(fades);
  Weights after = Weights(top, zrt_fma(before.l, rescale, sum_of_scores()));
  add_values(args, s, rescale);
  meet();
  return after;
}

Weights take_segment(Arguments args, Step s, uint segment, uint first, uint last) {
  for (uint i = lane_id(); i < args.value_dim; i += kLanes) part[i] = 0.0;
  Weights weights = Weights(-infinity(), 0.0);
  for (s.begin = segment * kSegment; s.begin < segment * kSegment + kSegment; s.begin += kKeys) {
    if (s.begin > last || s.begin + kKeys <= first) continue;
    s.from = max(first, s.begin);
    s.to = min(last, s.begin + kKeys - 1);
    weights = take_step(args, s, weights);
  }
  return weights;
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint head = group_x(), token = group_y(), last = word_at(args.positions, token);
  const uint behind = args.window != 0 && last >= args.window ? last - args.window + 1 : 0;
  const uint first = args.chunk != 0 ? last - last % args.chunk : behind;
  const uint64_t row = uint64_t(token) * args.heads + head;
  const Page page = Page(args.kv_heads, args.key_dim, args.value_dim);
  const Step s = Step(page, head / (args.heads / args.kv_heads), word_at(args.slots, token), 0, 0, 0);
  for (uint i = lane_id(); i < args.key_dim; i += kLanes) {
    real scaled = real_at(args.q, row * args.key_dim + i) * args.scale;
    query[i] = scaled;
  }
  meet();
  Weights all = take_segment(args, s, first / kSegment, first, last);
  for (uint i = lane_id(); i < args.value_dim; i += kLanes) total[i] = part[i];
  for (uint segment = first / kSegment + 1; segment <= last / kSegment; ++segment)
    all = merged(all, take_segment(args, s, segment, first, last), true, args.value_dim);
  if (args.sinks != 0) all = merged(all, Weights(real_at(args.sinks, head), 1.0), false, args.value_dim);
  for (uint i = lane_id(); i < args.value_dim; i += kLanes)
    put_real(args.y, row * args.value_dim + i, zrt_div(total[i], all.l));
}
