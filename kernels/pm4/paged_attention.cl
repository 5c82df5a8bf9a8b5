// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/paged_attention.cl: causal attention of one query of each token's slot over its pages.
//
// Grid: (heads, tokens). A workgroup takes one head: 64 lanes score the 64 keys of a step, then all 128 sum values, a
// lane up to four of the value's at most 512 dims; keys have at most 1024. sinks may be null. Canonical: NUMERICS,
// Attention; steps of 64 and segments of 512 positions, one after the other.
#include "elementary.h"
#include "page.h"

#define LANES 128
#define KEYS 64
#define SEGMENT 512
#define KEY_DIMS 1024
#define DIMS 512
#define EACH (DIMS / LANES)

/// The weighted sum of some keys' values; every lane knows m and l.
typedef struct {
  float o[EACH];
  float m, l;
} Sum;

/// Adds the sum of later keys.
ZRT_INLINE void merge(Sum* total, const Sum* next) {
  const float top = larger(next->m, total->m);
  const float a = exp_of(total->m - top), b = exp_of(next->m - top);
  const float l = next->l * b;
  total->l = __builtin_fmaf(total->l, a, l);
  for (uint e = 0; e < EACH; ++e) {
    const float o = next->o[e] * b;
    total->o[e] = __builtin_fmaf(total->o[e], a, o);
  }
  total->m = top;
}

/// The 64 probabilities by dot16's lanes and tree.
ZRT_INLINE float sum_of(local const float* p) {
  float chain[16];
#pragma unroll
  for (uint i = 0; i < 16; ++i) chain[i] = ((p[i] + p[i + 16]) + p[i + 32]) + p[i + 48];
#pragma unroll
  for (uint half_width = 8; half_width > 0; half_width /= 2)
#pragma unroll
    for (uint i = 0; i < half_width; ++i) chain[i] += chain[i + half_width];
  return chain[0];
}

ZRT_INLINE void paged_attention(const enum PageType type, local float* query, local float* scores, global const float* q,
                                global const float* sinks, global const uint* positions, global const uint* slots,
                                global const uint* page_table, global const char* pages, global float* y, uint heads,
                                Page page, float scale, float soft_cap, uint window, uint pages_per_slot,
                                uint page_bytes, uint chunk) {
  const uint head = group_x(), token = group_y(), lane = lane_id();
  const uint kv_head = head / (heads / page.kv_heads);
  const uint last = positions[token];
  const uint first = chunk != 0 ? last - last % chunk : window != 0 && last >= window ? last - window + 1 : 0;
  page_table += (ulong)slots[token] * pages_per_slot;
  q += ((ulong)token * heads + head) * page.key_dim;
  for (uint i = lane; i < page.key_dim; i += LANES) query[i] = q[i] * scale;
  meet();

  Sum total;
  bool any = false;
  for (uint segment = first / SEGMENT; segment <= last / SEGMENT; ++segment) {
    Sum part;
    for (uint e = 0; e < EACH; ++e) part.o[e] = 0.0f;
    part.m = -__builtin_inff();
    part.l = 0.0f;
    for (uint begin = segment * SEGMENT; begin < segment * SEGMENT + SEGMENT; begin += KEYS) {
      if (begin > last || begin + KEYS <= first) continue;
      // Positions from `from` to `to` are seen: at least one.
      const uint from = begin < first ? first : begin, to = last - begin < KEYS ? last : begin + KEYS - 1;
      const uint position = begin + lane;
      const bool sees = lane < KEYS && position >= from && position <= to;
      float score = 0.0f;
      if (sees) {
        global const char* at = pages + (ulong)page_table[position / PAGE_TOKENS] * page_bytes;
        const uint key = key_index(page, kv_head, position % PAGE_TOKENS);
#pragma unroll 4
        for (uint i = 0; i < page.key_dim; ++i)
          score = __builtin_fmaf(query[i], load_element(at, key + i * PAGE_TOKENS, type), score);
        if (soft_cap != 0.0f) score = soft_cap * tanh_of(score / soft_cap);
        scores[lane] = score;
      }
      meet();
      float top = part.m;
      for (uint p = from; p <= to; ++p) top = larger(scores[p - begin], top);
      meet();
      if (lane < KEYS) scores[lane] = sees ? exp_of(score - top) : 0.0f;
      meet();
      const float rescale = part.m == top ? 1.0f : exp_of(part.m - top);
      part.l = __builtin_fmaf(part.l, rescale, sum_of(scores));
      for (uint e = 0; e < EACH; ++e) part.o[e] = part.o[e] * rescale;
      for (uint seen = from; seen <= to; ++seen) {
        global const char* at = pages + (ulong)page_table[seen / PAGE_TOKENS] * page_bytes;
        const uint value = value_index(page, kv_head, seen % PAGE_TOKENS);
        const float p = scores[seen - begin];
#pragma unroll
        for (uint e = 0; e < EACH; ++e) {
          const uint i = lane + e * LANES;
          if (i < page.value_dim) part.o[e] = __builtin_fmaf(p, load_element(at, value + i, type), part.o[e]);
        }
      }
      part.m = top;
      meet();
    }
    if (any)
      merge(&total, &part);
    else
      total = part;
    any = true;
  }
  if (sinks != 0) {
    Sum sink;
    for (uint e = 0; e < EACH; ++e) sink.o[e] = 0.0f;
    sink.m = sinks[head];
    sink.l = 1.0f;
    merge(&total, &sink);
  }
  y += ((ulong)token * heads + head) * page.value_dim;
#pragma unroll
  for (uint e = 0; e < EACH; ++e)
    if (lane + e * LANES < page.value_dim) y[lane + e * LANES] = total.o[e] / total.l;
}

#define ZRT_PAGED_ATTENTION(type)                                                                                      \
  ZRT_KERNEL(LANES)                                                                                                    \
  paged_attention_##type(global const float* q, global const float* sinks, global const uint* positions,               \
                         global const uint* slots, global const uint* page_table, global const char* pages,            \
                         global float* y, uint heads, uint kv_heads, uint key_dim, uint value_dim, float scale,        \
                         float soft_cap, uint window, uint pages_per_slot, uint page_bytes, uint chunk) {              \
    local float query[KEY_DIMS], scores[KEYS];                                                                         \
    const Page page = {kv_heads, key_dim, value_dim};                                                                  \
    paged_attention(page_##type, query, scores, q, sinks, positions, slots, page_table, pages, y, heads, page, scale,  \
                    soft_cap, window, pages_per_slot, page_bytes, chunk);                                              \
  }
ZRT_PAGED_ATTENTION(f32)
ZRT_PAGED_ATTENTION(f16)
ZRT_PAGED_ATTENTION(bf16)
