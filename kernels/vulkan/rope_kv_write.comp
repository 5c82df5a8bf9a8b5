#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/rope_kv_write.comp: norm of query and key heads, rotation, and the page write of a token.
//
// makes: rope_kv_write_f32 PAGE=32
// makes: rope_kv_write_f16 PAGE=16
// makes: rope_kv_write_bf16 PAGE=116
// Grid: (heads + 2 * kv_heads, tokens). A workgroup takes one head: the query's, then the keys', then the values'. Norms
// may be absent; y may be q. `turns` are the positions by which heads are rotated, `positions` those that the pages are
// found by. Canonical. A lane takes dim / 16 + dim / 16 turns of a loop.
#include "norm.glsl"
#include "page.glsl"
#include "rotation.glsl"

ZRT_LANES(32);
ZRT_ARGUMENTS {
  uint64_t q, k, v, turns, positions, slots, table, frequencies, q_norm, k_norm, y, pages;
  uint heads, kv_heads, key_dim, value_dim, n_rot, neox;
  float magnitude, eps, weight_offset;
  uint pages_per_slot, page_bytes;
};

/// 1 / sqrt(mean of squares + eps).
real norm_scale(uint64_t x, uint dim, float eps) {
  real chain = 0.0;
  for (uint i = lane_id(); i < chain_end(dim); i += 16) {
    real value = real_at(x, i);
    chain = zrt_fma(value, value, chain);
  }
  return inverse_root(chain, dim, eps);
}

struct Norm {
  uint64_t weight;
  float scale, offset;
};
real normed(uint64_t x, uint i, Norm norm) {
  real value = real_at(x, i);
  if (norm.weight == 0) return value;
  return value * norm.scale * (real_at(norm.weight, i) + norm.offset);
}

/// Where a head's elements go: to a page, or to y.
struct Place {
  bool is_key;
  uint64_t at;
  uint first;
};
void put(Place place, uint i, float value) {
  if (place.is_key)
    store_element(place.at, place.first + i * kPageTokens, value);
  else
    put_real(place.at, i, value);
}

void write_values(Arguments args, Page page, uint head, uint64_t at, uint in_page) {
  const uint64_t v = args.v + (uint64_t(group_y()) * page.kv_heads + head) * page.value_dim * 4;
  const uint to = value_index(page, head, in_page);
  for (uint i = lane_id(); i < page.value_dim; i += 32) store_element(at, to + i, real_at(v, i));
}

void turn_head(Arguments args, uint64_t x, Norm norm, Place place) {
  const Rotation rotation = Rotation(args.n_rot, args.neox, args.magnitude);
  const uint turn = word_at(args.turns, group_y());
  // A lane writes only what it alone has still to read.
  for (uint i = lane_id(); i < args.n_rot / 2; i += 32) {
    const uint a = first_of(rotation, i), b = second_of(rotation, i);
    real2 turned = rotated(rotation, turn, real_at(args.frequencies, i), normed(x, a, norm), normed(x, b, norm));
    put(place, a, turned.x);
    put(place, b, turned.y);
  }
  for (uint i = args.n_rot + lane_id(); i < args.key_dim; i += 32) put(place, i, normed(x, i, norm));
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const Page page = Page(args.kv_heads, args.key_dim, args.value_dim);
  const uint token = group_y(), position = word_at(args.positions, token), in_page = position % kPageTokens;
  const uint64_t at = page_of(args.pages, args.table, word_at(args.slots, token), position, args.pages_per_slot,
                              args.page_bytes);
  if (group_x() >= args.heads + page.kv_heads) {
    write_values(args, page, group_x() - args.heads - page.kv_heads, at, in_page);
    return;
  }
  const bool is_key = group_x() >= args.heads;
  const uint head = is_key ? group_x() - args.heads : group_x(), all = is_key ? page.kv_heads : args.heads;
  const uint64_t offset = (uint64_t(token) * all + head) * page.key_dim * 4;
  const uint64_t x = (is_key ? args.k : args.q) + offset;
  Norm norm = Norm(is_key ? args.k_norm : args.q_norm, 1.0, args.weight_offset);
  if (norm.weight != 0) norm.scale = norm_scale(x, page.key_dim, args.eps);
  turn_head(args, x, norm, Place(is_key, is_key ? at : args.y + offset, key_index(page, head, in_page)));
}
