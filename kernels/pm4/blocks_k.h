// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/blocks_k.h: what the matrix-vector products of the K types share: blocks of 256 with integer sub-scales.
//
// A lane has a row, one block of which it loads at once and multiplies with up to eight tokens; sums of a block's runs
// times their factors are exact. Activations are the same for all lanes, so that they are scalars.
#pragma once

#include "dot4.h"
#include "experts.h"
#include "factors.h"
#include "pieces.h"
#include "rows.h"

#define TOKENS 8

/// Round_activation_q8_256's, of the wave's tokens: xq [tokens][cols], xd [tokens][blocks].
typedef struct {
  global const char* xq;
  global const float* xd;
  uint blocks, tokens;
} Activations;

ZRT_INLINE Activations activations_of(global const char* xq, global const float* xd, uint cols, Part tokens) {
  const uint blocks = cols / 256;
  const Activations a = {xq + (ulong)tokens.first * cols, xd + (ulong)tokens.first * blocks, blocks, tokens.count};
  return a;
}
/// Block `b` of a token, in the address space of what no wave writes, whose loads of one address for all lanes are scalar.
ZRT_INLINE constant const uint* x_of(Activations a, uint token, uint b) {
  return (constant const uint*)(ulong)(a.xq + (token * a.blocks + b) * 256);
}
ZRT_INLINE float x_scale_of(Activations a, uint token, uint b) {
  return ((constant const float*)(ulong)a.xd)[token * a.blocks + b];
}
