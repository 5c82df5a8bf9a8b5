#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/kv_write.comp: keys and values of each token into its slot's page.
//
// makes: kv_write_f32 PAGE=32
// makes: kv_write_f16 PAGE=16
// makes: kv_write_bf16 PAGE=116
// Grid: (2 * kv_heads, tokens). A workgroup takes one head: the keys', then the values'. Exact.
#include "page.glsl"

ZRT_LANES(32);
ZRT_ARGUMENTS {
  uint64_t k, v, positions, slots, table, pages;
  uint kv_heads, key_dim, value_dim, pages_per_slot, page_bytes;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const Page page = Page(args.kv_heads, args.key_dim, args.value_dim);
  const uint token = group_y(), position = word_at(args.positions, token), in_page = position % kPageTokens;
  const uint64_t at = page_of(args.pages, args.table, word_at(args.slots, token), position, args.pages_per_slot,
                              args.page_bytes);
  const bool is_key = group_x() < page.kv_heads;
  const uint head = is_key ? group_x() : group_x() - page.kv_heads;
  const uint dim = is_key ? page.key_dim : page.value_dim, apart = is_key ? kPageTokens : 1;
  const uint to = is_key ? key_index(page, head, in_page) : value_index(page, head, in_page);
  const uint64_t from = (is_key ? args.k : args.v) + (uint64_t(token) * page.kv_heads + head) * dim * 4;
  for (uint i = lane_id(); i < dim; i += 32) store_element(at, to + i * apart, real_at(from, i));
}
