// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/dot16_product.glsl: a row of F32, F16 or BF16 times rows of f32, in the order dot16: ELEMENT is 32, 16
// or 116.
#ifndef ZRT_DOT16_PRODUCT
#define ZRT_DOT16_PRODUCT

#include "dot16.glsl"
#include "pieces.glsl"

#if ELEMENT == 32
/// Four neighbouring columns of a row, the first a multiple of four.
real4 four_weights(uint64_t w, uint row, uint column, uint cols) {
  return real4_at(w + value_place(4, row, column, cols) * 4, 0);
}
#else
real4 four_weights(uint64_t w, uint row, uint column, uint cols) {
  const uvec2 bits = Word2(w + value_place(8, row, column, cols) * 2).value;
#if ELEMENT == 16
  return vec4(unpackHalf2x16(bits.x), unpackHalf2x16(bits.y));
#else
  return uintBitsToFloat(uvec4(bits.x << 16, bits.x & 0xffff0000u, bits.y << 16, bits.y & 0xffff0000u));
#endif
}
#endif

/// Sixteen columns of a row, of which `count` are there.
struct Weights {
  vec4 w[4];
  uint count;
};
/// Dot16's lanes.
struct Chains {
  vec4 c[4];
};

Weights weights_of(uint64_t w, uint row, uint column, uint cols) {
  Weights all;
  all.count = cols - column;
  [[unroll]] for (uint i = 0; i < 4; ++i)
    all.w[i] = i * 4 < all.count ? four_weights(w, row, column + i * 4, cols) : vec4(0.0);
  return all;
}

Chains no_chains() {
  Chains chains;
  [[unroll]] for (uint i = 0; i < 4; ++i) chains.c[i] = vec4(0.0);
  return chains;
}

/// Goes on with the chains by sixteen columns of x. Columns are padded with zeros to a multiple of 16.
Chains multiplied(Weights weights, uint64_t x, Chains chains) {
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    real4 next = chains.c[i] + 0.0;
    if (i * 4 < weights.count) next = zrt_fma(weights.w[i], real4_at(x, i), chains.c[i]);
    chains.c[i] = next;
  }
  return chains;
}

real sum_of(Chains chains) { return tree_of(chains.c[0], chains.c[1], chains.c[2], chains.c[3]); }

/// A row of the matrix times one row of x, in cols / 16 turns of a loop.
real row_product(uint64_t w, uint row, uint64_t x, uint cols) {
  Chains chains = no_chains();
  for (uint at = 0; at < cols; at += 16) chains = multiplied(weights_of(w, row, at, cols), x + at * 4, chains);
  return sum_of(chains);
}

#endif
