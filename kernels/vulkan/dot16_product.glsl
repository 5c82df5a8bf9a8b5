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
  const uvec2 bits = unpackUint2x32(Long(w + value_place(8, row, column, cols) * 2).value);
#if ELEMENT == 16
  return vec4(unpackHalf2x16(bits.x), unpackHalf2x16(bits.y));
#else
  return uintBitsToFloat(uvec4(bits.x << 16, bits.x & 0xffff0000u, bits.y << 16, bits.y & 0xffff0000u));
#endif
}
#endif

/// Sixteen columns of a row, of which `count` are there.
struct Weights {
  vec4 a, b, c, d;
  uint count;
};
/// Dot16's lanes.
struct Chains {
  vec4 a, b, c, d;
};

Weights weights_of(uint64_t w, uint row, uint column, uint cols) {
  Weights all = Weights(four_weights(w, row, column, cols), vec4(0.0), vec4(0.0), vec4(0.0), cols - column);
  if (all.count > 4) all.b = four_weights(w, row, column + 4, cols);
  if (all.count > 8) all.c = four_weights(w, row, column + 8, cols);
  if (all.count > 12) all.d = four_weights(w, row, column + 12, cols);
  return all;
}

Chains no_chains() { return Chains(vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0)); }

/// Goes on with four chains, where there are columns for them.
real4 four_chains(bool present, vec4 weights, uint64_t x, vec4 chains) {
  if (!present) return chains;
  return zrt_fma(weights, real4_at(x, 0), chains);
}
/// Goes on with the chains by sixteen columns of x.
Chains multiplied(Weights w, uint64_t x, Chains chains) {
  return Chains(four_chains(true, w.a, x, chains.a), four_chains(w.count > 4, w.b, x + 16, chains.b),
                four_chains(w.count > 8, w.c, x + 32, chains.c), four_chains(w.count > 12, w.d, x + 48, chains.d));
}

real sum_of(Chains chains) { return tree_of(chains.a, chains.b, chains.c, chains.d); }

/// A row of the matrix times one row of x, in cols / 16 turns of a loop.
real row_product(uint64_t w, uint row, uint64_t x, uint cols) {
  Chains chains = no_chains();
  for (uint at = 0; at < cols; at += 16) chains = multiplied(weights_of(w, row, at, cols), x + at * 4, chains);
  return sum_of(chains);
}

#endif
