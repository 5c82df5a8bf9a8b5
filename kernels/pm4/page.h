// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/page.h: where keys and values lie: KvPage's layout, pages of f32, f16 or bf16.
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

enum PageType { page_f32, page_f16, page_bf16 };

ZRT_INLINE float load_element(global const char* page, uint index, const enum PageType type) {
  switch (type) {
    case page_f32: return ((global const float*)page)[index];
    case page_f16: return (float)((global const half*)page)[index];
    case page_bf16: break;
  }
  return bits_to_float((uint)((global const ushort*)page)[index] << 16);
}
/// Rounds to the page's type, to even; a NaN of bf16 stays one.
ZRT_INLINE void store_element(global char* page, uint index, float x, const enum PageType type) {
  const uint bits = float_to_bits(x);
  switch (type) {
    case page_f32: ((global float*)page)[index] = x; return;
    case page_f16: ((global half*)page)[index] = (half)x; return;
    case page_bf16: break;
  }
  const uint rounded = (bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1);
  ((global ushort*)page)[index] = (ushort)(rounded >> 16);
}
