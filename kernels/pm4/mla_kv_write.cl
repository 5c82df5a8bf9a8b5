// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/mla_kv_write.cl: the latent vector and the rotated key of latent attention, into the page of a token.
//
// x [tokens][latent + turned]. Grid: (2, tokens). The first wave writes the rotated part of the key, the second the
// normed latent vector, which is the rest of the key and the value. Canonical.
#include "dot16.h"
#include "page.h"
#include "rotation.h"

ZRT_INLINE void mla_kv_write(const enum PageType type, global const float* x, global const uint* turns,
                             global const uint* positions, global const uint* slots, global const uint* page_table,
                             global const float* frequencies, global const float* norm, global char* pages, uint latent,
                             uint turned, Rotation rotation, float eps, uint pages_per_slot, uint page_bytes) {
  const uint token = group_y(), lane = lane_id(), position = positions[token], in_page = position % PAGE_TOKENS;
  const uint number = page_table[(ulong)slots[token] * pages_per_slot + position / PAGE_TOKENS];
  global char* at = pages + (ulong)number * page_bytes;
  const Page page = {1, latent + turned, latent};
  const uint key = key_index(page, 0, in_page), value = value_index(page, 0, in_page);
  x += (ulong)token * (latent + turned);
  if (group_x() == 0) {
    x += latent;
    for (uint i = lane; i < rotation.n_rot / 2; i += 32) {
      const uint a = first_of(rotation, i), b = second_of(rotation, i);
      const float2 y = rotated(rotation, turns[token], frequencies[i], x[a], x[b]);
      store_element(at, key + a * PAGE_TOKENS, y.x, type);
      store_element(at, key + b * PAGE_TOKENS, y.y, type);
    }
    for (uint i = rotation.n_rot + lane; i < turned; i += 32) store_element(at, key + i * PAGE_TOKENS, x[i], type);
    return;
  }
  float chain = 0.0f;
  for (uint i = lane % 16; i < latent; i += 16) chain = __builtin_fmaf(x[i], x[i], chain);
  const float scale = 1.0f / __builtin_sqrtf(tree16(chain) / (float)latent + eps);
  for (uint i = lane; i < latent; i += 32) {
    const float normed = x[i] * scale * (norm[i] + 0.0f);
    store_element(at, key + (turned + i) * PAGE_TOKENS, normed, type);
    store_element(at, value + i, normed, type);
  }
}

#define ZRT_MLA_KV_WRITE(type)                                                                                         \
  ZRT_KERNEL(32)                                                                                                       \
  mla_kv_write_##type(global const float* x, global const uint* turns, global const uint* positions,                   \
                      global const uint* slots, global const uint* page_table, global const float* frequencies,        \
                      global const float* norm, global char* pages, uint latent, uint turned, uint n_rot, uint neox,   \
                      float magnitude, float eps, uint pages_per_slot, uint page_bytes) {                              \
    const Rotation rotation = {n_rot, neox, magnitude};                                                                \
    mla_kv_write(page_##type, x, turns, positions, slots, page_table, frequencies, norm, pages, latent, turned,        \
                 rotation, eps, pages_per_slot, page_bytes);                                                           \
  }
ZRT_MLA_KV_WRITE(f32)
ZRT_MLA_KV_WRITE(f16)
ZRT_MLA_KV_WRITE(bf16)
