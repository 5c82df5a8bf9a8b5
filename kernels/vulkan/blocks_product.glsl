// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/blocks_product.glsl: a row of a block type times rounded activations, in the order `blocks`.
//
// The type's blocks are what its file says: Parts are where they lie, a Head what a block has one of, a Step some
// columns of it as signed bytes. Activations are round_activation_q8_32's or _256's: xq [tokens][cols],
// xd [tokens][cols / BLOCK]. A block's sum is exact in integers, and its step of the chain is one multiply-add, or two.
#ifndef ZRT_BLOCKS_PRODUCT
#define ZRT_BLOCKS_PRODUCT

#include "arithmetic.glsl"
#include "dot4.glsl"
#include "pieces.glsl"

/// The sums of a block times the factors of its runs: of scales, and of offsets where the type has them.
struct Sums {
  int scaled, offset;
};

#if defined(TYPE_Q8_0)
#include "type_q8_0.glsl"
#elif defined(TYPE_Q4_0)
#include "type_q4_0.glsl"
#elif defined(TYPE_MXFP4)
#include "type_mxfp4.glsl"
#elif defined(TYPE_Q4_K)
#include "type_q4_k.glsl"
#elif defined(TYPE_Q5_K)
#include "type_q5_k.glsl"
#elif defined(TYPE_Q6_K)
#include "type_q6_k.glsl"
#else
#define PLANES
#include "type_planes.glsl"
#endif

/// Rounded activations of all tokens.
struct Activations {
  uint64_t q, d;
  uint cols;
};

uint64_t block_of(Activations x, uint token, uint b) { return x.q + (uint64_t(token) * x.cols + b * BLOCK); }
real scale_of(Activations x, uint token, uint b) {
  return real_at(x.d, uint64_t(token) * (x.cols / BLOCK) + b);
}

/// A row of the matrix times one token, in cols / 32 turns of loops, of K types cols / 256 * 7.
real row_product(Parts m, uint row, Activations x, uint token) {
  const uint blocks = x.cols / BLOCK;
  real chain = 0.0;
  for (uint b = 0; b < blocks; ++b) {
    const Head h = head_of(m, row, b, blocks);
    Sums sums = Sums(0, 0);
#if STEPS == 1
    add(sums, step_of(m, h, row, b, 0, blocks), block_of(x, token, b));
#else
    for (uint part = 0; part < STEPS; ++part)
      add(sums, step_of(m, h, row, b, part, blocks), block_of(x, token, b));
#endif
    chain = finished(h, sums, scale_of(x, token, b), chain);
  }
  return chain;
}

#endif
