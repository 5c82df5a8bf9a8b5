// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/page.glsl: where keys and values lie: KvPage's layout, pages of f32, f16 or bf16: PAGE is 32, 16 or 116.
#ifndef ZRT_PAGE
#define ZRT_PAGE

#include "memory.glsl"

#define PAGE_F32 32
#define PAGE_F16 16
#define PAGE_BF16 116
const uint kPageTokens = 16;

/// Keys [kv head][key dim][16 tokens], then values [kv head][16 tokens][value dim].
struct Page {
  uint kv_heads, key_dim, value_dim;
};

uint key_index(Page p, uint head, uint token) { return head * p.key_dim * kPageTokens + token; }
uint value_index(Page p, uint head, uint token) {
  return p.kv_heads * p.key_dim * kPageTokens + (head * kPageTokens + token) * p.value_dim;
}

/// The address of the page that a position of a slot is in.
uint64_t page_of(uint64_t pages, uint64_t table, uint slot, uint position, uint pages_per_slot, uint page_bytes) {
  const uint number = word_at(table, uint64_t(slot) * pages_per_slot + position / kPageTokens);
  return pages + uint64_t(number) * page_bytes;
}

real load_element(uint64_t page, uint index) {
#if PAGE == PAGE_F32
  return real_at(page, index);
#elif PAGE == PAGE_F16
  return f16_at(page, index);
#else
  return bf16_of(short_at(page, index));
#endif
}
/// Rounds to the page's type, to even; a NaN of bf16 stays one.
void store_element(uint64_t page, uint index, float x) {
#if PAGE == PAGE_F32
  put_real(page, index, x);
#elif PAGE == PAGE_F16
  put_short(page, index, packHalf2x16(vec2(x, 0.0)));
#else
  const uint bits = floatBitsToUint(x);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  put_short(page, index, (nan ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
#endif
}

#endif
