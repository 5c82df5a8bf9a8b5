// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/kv_write.cl: keys and values of each token into its slot's page.
//
// Grid: (2 * kv_heads, tokens). One wave takes one head: the keys', then the values'. Exact.
#include "page.h"

ZRT_INLINE void kv_write(const enum PageType type, global const float* k, global const float* v,
                         global const uint* positions, global const uint* slots, global const uint* page_table,
                         global char* pages, Page page, uint pages_per_slot, uint page_bytes) {
  const uint token = group_y(), position = positions[token], in_page = position % PAGE_TOKENS;
  const uint number = page_table[(ulong)slots[token] * pages_per_slot + position / PAGE_TOKENS];
  global char* at = pages + (ulong)number * page_bytes;
  uint head = group_x();
  if (head < page.kv_heads) {
    k += ((ulong)token * page.kv_heads + head) * page.key_dim;
    const uint to = key_index(page, head, in_page);
    for (uint i = lane_id(); i < page.key_dim; i += 32) store_element(at, to + i * PAGE_TOKENS, k[i], type);
  } else {
    head -= page.kv_heads;
    v += ((ulong)token * page.kv_heads + head) * page.value_dim;
    const uint to = value_index(page, head, in_page);
    for (uint i = lane_id(); i < page.value_dim; i += 32) store_element(at, to + i, v[i], type);
  }
}

#define ZRT_KV_WRITE(type)                                                                                             \
  ZRT_KERNEL(32)                                                                                                       \
  kv_write_##type(global const float* k, global const float* v, global const uint* positions,                          \
                  global const uint* slots, global const uint* page_table, global char* pages, uint kv_heads,          \
                  uint key_dim, uint value_dim, uint pages_per_slot, uint page_bytes) {                                \
    const Page page = {kv_heads, key_dim, value_dim};                                                                  \
    kv_write(page_##type, k, v, positions, slots, page_table, pages, page, pages_per_slot, page_bytes);                \
  }
ZRT_KV_WRITE(f32)
ZRT_KV_WRITE(f16)
ZRT_KV_WRITE(bf16)
