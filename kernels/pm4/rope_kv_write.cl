// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/rope_kv_write.cl: norm of query and key heads, rotation, and the page write of a token.
//
// Grid: (heads + 2 * kv_heads, tokens). One wave takes one head: the query's, then the keys', then the values'. Norms
// may be null; y may be q. frequencies has n_rot / 2 values, rope_frequency's. `turns` are the positions by which heads
// are rotated, `positions` those that the pages are found by. Canonical.
#include "dot16.h"
#include "page.h"
#include "rotation.h"

/// 1 / sqrt(mean of squares + eps); 1 without a norm.
ZRT_INLINE float norm_scale(global const float* x, global const float* weight, uint dim, float eps) {
  if (weight == 0) return 1.0f;
  float chain = 0.0f;
  for (uint i = lane_id() % 16; i < dim; i += 16) chain = __builtin_fmaf(x[i], x[i], chain);
  return 1.0f / __builtin_sqrtf(tree16(chain) / (float)dim + eps);
}

ZRT_INLINE float normed(float x, float scale, global const float* weight, uint i, float weight_offset) {
  return weight == 0 ? x : x * scale * (weight[i] + weight_offset);
}

ZRT_INLINE void
rope_kv_write(const enum PageType type, global const float* q, global const float* k, global const float* v,
              global const uint* turns, global const uint* positions, global const uint* slots,
              global const uint* page_table,
              global const float* frequencies, global const float* q_norm, global const float* k_norm, global float* y,
              global char* pages, uint heads, Page page, Rotation rotation, float eps, float weight_offset,
              uint pages_per_slot, uint page_bytes) {
  const uint token = group_y(), lane = lane_id();
  const uint position = positions[token];
  const uint in_page = position % PAGE_TOKENS;
  const uint number = page_table[(ulong)slots[token] * pages_per_slot + position / PAGE_TOKENS];
  global char* at = pages + (ulong)number * page_bytes;
  uint head = group_x();
  if (head >= heads + page.kv_heads) {
    head -= heads + page.kv_heads;
    v += ((ulong)token * page.kv_heads + head) * page.value_dim;
    const uint to = value_index(page, head, in_page);
    for (uint i = lane; i < page.value_dim; i += 32) store_element(at, to + i, v[i], type);
    return;
  }
  const bool is_key = head >= heads;
  if (is_key) head -= heads;
  const uint dim = page.key_dim;
  global const float* x = (is_key ? k : q) + ((ulong)token * (is_key ? page.kv_heads : heads) + head) * dim;
  global const float* weight = is_key ? k_norm : q_norm;
  const float scale = norm_scale(x, weight, dim, eps);
  y += ((ulong)token * heads + head) * dim;
  const uint key = key_index(page, head, in_page);
  // A lane writes only what it alone has still to read.
  for (uint i = lane; i < rotation.n_rot / 2; i += 32) {
    const uint a = first_of(rotation, i), b = second_of(rotation, i);
    const float2 turned = rotated(rotation, turns[token], frequencies[i], normed(x[a], scale, weight, a, weight_offset),
                                  normed(x[b], scale, weight, b, weight_offset));
    if (is_key) {
      store_element(at, key + a * PAGE_TOKENS, turned.x, type);
      store_element(at, key + b * PAGE_TOKENS, turned.y, type);
    } else {
      y[a] = turned.x;
      y[b] = turned.y;
    }
  }
  for (uint i = rotation.n_rot + lane; i < dim; i += 32) {
    const float plain = normed(x[i], scale, weight, i, weight_offset);
    if (is_key)
      store_element(at, key + i * PAGE_TOKENS, plain, type);
    else
      y[i] = plain;
  }
}

#define ZRT_ROPE_KV_WRITE(type)                                                                                        \
  ZRT_KERNEL(32)                                                                                                       \
  rope_kv_write_##type(global const float* q, global const float* k, global const float* v, global const uint* turns,  \
                       global const uint* positions, global const uint* slots, global const uint* page_table,          \
                       global const float* frequencies, global const float* q_norm, global const float* k_norm,        \
                       global float* y, global char* pages, uint heads, uint kv_heads, uint key_dim, uint value_dim,   \
                       uint n_rot, uint neox, float magnitude, float eps, float weight_offset, uint pages_per_slot,    \
                       uint page_bytes) {                                                                              \
    const Page page = {kv_heads, key_dim, value_dim};                                                                  \
    const Rotation rotation = {n_rot, neox, magnitude};                                                                \
    rope_kv_write(page_##type, q, k, v, turns, positions, slots, page_table, frequencies, q_norm, k_norm, y, pages,    \
                  heads, page, rotation, eps, weight_offset, pages_per_slot, page_bytes);                              \
  }
ZRT_ROPE_KV_WRITE(f32)
ZRT_ROPE_KV_WRITE(f16)
ZRT_ROPE_KV_WRITE(bf16)
