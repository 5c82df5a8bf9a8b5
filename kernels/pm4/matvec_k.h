// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_k.h: the way of a matrix-vector product of a K type, whose Matrix, Block, load_block and multiply
// stand before it.
#pragma once

/// The products of a wave's rows with one token, whose chain stays in a register, or with several, whose chains are in
/// local memory between blocks. Lanes without a row have the last one again: nothing more is read, and no load waits for a
/// branch.
ZRT_INLINE void take_rows(const bool alone, Matrix m, Activations a, local float* chains, Result result) {
  const uint lane = lane_id();
  const Lane row = {least(lane, result.rows.count - 1), 0};
  float chain = 0.0f;
#pragma unroll 1
  for (uint b = 0; b < a.blocks; ++b) {
    const Block block = load_block(m, row, a.blocks, b);
    if (alone) {
      chain = multiply(block, a, 0, b, chain);
      continue;
    }
#pragma unroll 1
    for (uint t = 0; t < a.tokens; ++t) {
      local float* of = chains + t * 32 + lane;
      *of = multiply(block, a, t, b, b == 0 ? 0.0f : *of);
    }
  }
  if (alone) return put(result, lane, 0, chain);
#pragma unroll 1
  for (uint t = 0; t < a.tokens; ++t) put(result, lane, t, chains[t * 32 + lane]);
}

ZRT_INLINE void product(Matrix m, Activations a, local float* chains, Result result) {
  if (a.tokens == 1)
    take_rows(true, m, a, chains, result);
  else
    take_rows(false, m, a, chains, result);
}

/// The chain of one row of activations with the lane's row of an expert.
ZRT_INLINE void take_expert(Matrix m, ExpertRows here, ExpertOperands operands, ExpertShape shape,
                            global const char* xq, global const float* xd) {
  const Part one = {here.x_row, 1};
  const Activations a = activations_of(xq, xd, shape.cols, one);
  float chain = 0.0f;
#pragma unroll 1
  for (uint b = 0; b < a.blocks; ++b) chain = multiply(load_block(m, here.lane, a.blocks, b), a, 0, b, chain);
  if (here.has_row) put_row(here, operands, shape, chain);
}
