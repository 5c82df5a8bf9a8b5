#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/mla_kv_write.comp: the latent vector and the rotated key of latent attention, into the page of a token.
//
// makes: mla_kv_write_f32 PAGE=32
// makes: mla_kv_write_f16 PAGE=16
// makes: mla_kv_write_bf16 PAGE=116
// x [tokens][latent + turned]. Grid: (2, tokens). The first workgroup writes the rotated part of the key, the second the
// normed latent vector, which is the rest of the key and the value. Canonical.
#include "norm.glsl"
#include "page.glsl"
#include "rotation.glsl"

ZRT_LANES(32);
ZRT_ARGUMENTS {
  uint64_t x, turns, positions, slots, table, frequencies, norm, pages;
  uint latent, turned, n_rot, neox;
  float magnitude, eps;
  uint pages_per_slot, page_bytes;
};

void write_turned(Arguments args, uint64_t x, uint64_t at, uint key) {
  const Rotation rotation = Rotation(args.n_rot, args.neox, args.magnitude);
  const uint turn = word_at(args.turns, group_y());
  for (uint i = lane_id(); i < args.n_rot / 2; i += 32) {
    const uint a = first_of(rotation, i), b = second_of(rotation, i);
    real2 y = rotated(rotation, turn, real_at(args.frequencies, i), real_at(x, a), real_at(x, b));
    store_element(at, key + a * kPageTokens, y.x);
    store_element(at, key + b * kPageTokens, y.y);
  }
  for (uint i = args.n_rot + lane_id(); i < args.turned; i += 32)
    store_element(at, key + i * kPageTokens, real_at(x, i));
}

void write_latent(Arguments args, uint64_t x, uint64_t at, uint key, uint value) {
  real chain = 0.0;
  for (uint i = lane_id(); i < chain_end(args.latent); i += 16) {
    real element = real_at(x, i);
    chain = zrt_fma(element, element, chain);
  }
  real scale = inverse_root(chain, args.latent, args.eps);
  for (uint i = lane_id(); i < args.latent; i += 32) {
    real normed = real_at(x, i) * scale * (real_at(args.norm, i) + 0.0);
    store_element(at, key + (args.turned + i) * kPageTokens, normed);
    store_element(at, value + i, normed);
  }
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const Page page = Page(1, args.latent + args.turned, args.latent);
  const uint token = group_y(), position = word_at(args.positions, token), in_page = position % kPageTokens;
  const uint64_t at = page_of(args.pages, args.table, word_at(args.slots, token), position, args.pages_per_slot,
                              args.page_bytes);
  const uint64_t x = args.x + uint64_t(token) * page.key_dim * 4;
  const uint key = key_index(page, 0, in_page), value = value_index(page, 0, in_page);
  if (group_x() == 0)
    write_turned(args, x + args.latent * 4, at, key);
  else
    write_latent(args, x, at, key, value);
}
