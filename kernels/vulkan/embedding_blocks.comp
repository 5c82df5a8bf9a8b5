#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/embedding_blocks.comp: rows of a table of a block type, which lies as the products have it, so that it
// may be the output projection too.
//
// makes: embedding_q8_0 TYPE_Q8_0
// makes: embedding_q4_0 TYPE_Q4_0
// makes: embedding_mxfp4 TYPE_MXFP4
// makes: embedding_q4_k TYPE_Q4_K
// makes: embedding_q5_k TYPE_Q5_K
// makes: embedding_q6_k TYPE_Q6_K
// makes one for each TYPE of plane_types.glsl: embedding_
// Grid: (ceil(cols / 256), tokens). Canonical.
#include "blocks_product.glsl"
#include "embedded_row.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t ids;
  Parts m;
  uint64_t y, fault;
  uint rows, cols;
  float scale;
};

/// Byte `i` of piece `piece` of a row, of `pieces`.
uint byte_of(uint64_t part, uint row, uint piece, uint pieces, uint i) {
  return byte_at(part, piece_place(row, piece, pieces) * 16 + i);
}

#ifndef PLANES
#if defined(TYPE_Q8_0)
int integer_of(Parts m, uint row, uint b, uint blocks, uint i) {
  return int(byte_of(m.q, row, b * 2 + i / 16, blocks * 2, i % 16) << 24) >> 24;
}
#elif STEPS == 1
int integer_of(Parts m, uint row, uint b, uint blocks, uint i) {
  const uint nibble = byte_of(m.q, row, b, blocks, i % 16) >> i / 16 * 4 & 15u;
#if defined(TYPE_MXFP4)
  return twice_float(nibble);
#else
  return int(nibble ^ 8u) - 8;
#endif
}
#elif defined(TYPE_Q6_K)
int integer_of(Parts m, uint row, uint b, uint blocks, uint i) {
  const uint upper = i / 64 % 2, piece = i / 128 * 4 + i / 16 % 4, place = i % 16;
  const uint bits = byte_of(m.low, row, b * 8 + piece, blocks * 8, place) >> upper * 4 & 15u;
  const uint pairs = byte_of(m.top, row, b * 4 + piece / 2, blocks * 4, piece % 2 * 8 + upper * 4 + place % 4);
  return int((bits | (pairs >> place / 4 * 2 & 3u) << 4) ^ 32u) - 32;
}
#else
int integer_of(Parts m, uint row, uint b, uint blocks, uint i) {
  const uint run = i / 32;
  const uint bits = byte_of(m.q, row, b * 8 + run / 2 * 2 + i / 16 % 2, blocks * 8, i % 16) >> run % 2 * 4 & 15u;
#if FIVE_BITS
  return int(bits | (byte_of(m.top, row, b * 2 + i / 16 % 2, blocks * 2, i % 16) >> run & 1u) << 4);
#else
  return int(bits);
#endif
}
#endif

#if STEPS == 1
real value_of(Head h, int integer, uint i) { return float(integer) * h.d; }
#elif defined(TYPE_Q6_K)
real value_of(Head h, int integer, uint i) {
  real factor = h.d * float(signed_byte(h.factors[i / 64], i / 16 % 4));
  return factor * float(integer);
}
#else
real value_of(Head h, int integer, uint i) {
  real factor = h.d * float(factor_of(h.scales, i / 32));
  real offset = h.minimum * float(factor_of(h.offsets, i / 32));
  return zrt_fma(factor, float(integer), offset);
}
#endif

real value_at(Parts m, uint row, uint b, uint blocks, uint i) {
  return value_of(head_of(m, row, b, blocks), integer_of(m, row, b, blocks, i), i);
}
#endif

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint column = group_x() * 256 + lane_id(), row = row_of(args.ids, args.fault, args.rows);
  if (column >= args.cols) return;
  const uint b = column / BLOCK, i = column % BLOCK, blocks = args.cols / BLOCK;
  real value = value_at(args.m, row, b, blocks, i);
  real scaled = value * args.scale;
  put_real(args.y, uint64_t(group_y()) * args.cols + column, scaled);
}
