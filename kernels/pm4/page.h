// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/page.h: where keys and values lie: KvPage's layout, pages of f32 or f16.
#pragma once

#include "place.h"

#define PAGE_TOKENS 16

/// Keys [kv head][key dim][16 tokens], then values [kv head][16 tokens][value dim].
typedef struct {
  uint kv_heads, key_dim, value_dim;
} Page;

ZRT_INLINE uint key_index(Page p, uint head, uint token) { return head * p.key_dim * PAGE_TOKENS + token; }
ZRT_INLINE uint value_index(Page p, uint head, uint token) {
  return p.kv_heads * p.key_dim * PAGE_TOKENS + (head * PAGE_TOKENS + token) * p.value_dim;
}

ZRT_INLINE float load_element(global const char* page, uint index, bool is_f16) {
  return is_f16 ? (float)((global const half*)page)[index] : ((global const float*)page)[index];
}
ZRT_INLINE void store_element(global char* page, uint index, float x, bool is_f16) {
  if (is_f16)
    ((global half*)page)[index] = (half)x;
  else
    ((global float*)page)[index] = x;
}
