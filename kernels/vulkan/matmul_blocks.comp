#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/matmul_blocks.comp: a matrix of a block type times rounded activations, for prompt tokens.
//
// makes: matmul_q8_0 TYPE_Q8_0
// makes: matmul_q4_0 TYPE_Q4_0
// makes: matmul_mxfp4 TYPE_MXFP4
// makes: matmul_q4_k TYPE_Q4_K
// makes: matmul_q5_k TYPE_Q5_K
// makes: matmul_q6_k TYPE_Q6_K
// makes one for each TYPE of plane_types.glsl: matmul_
// Grid: (ceil(rows / 64), ceil(tokens / 64)). A lane has a row and sixteen tokens at a time, of every other sixteen; of K
// types, which keep more in shared memory, eight. Canonical: the order `blocks`, so that a token gets the same bits as
// from the matrix-vector kernels. At most 58,000 columns, of K types 80,000.
#define LANES 128
#define TOKENS (STEPS == 1 ? 16 : 8)
#include "several_tokens.glsl"
#include "rows.glsl"

ZRT_LANES(LANES);
ZRT_ARGUMENTS {
  Parts m;
  uint64_t xq, xd, bias, y;
  uint rows, cols, tokens;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint row = group_x() * 64 + lane_id() % 64, end = min(args.tokens, group_y() * 64 + 64);
  const Activations x = Activations(args.xq, args.xd, args.cols);
  if (row >= args.rows) return;
  for (uint first = group_y() * 64 + lane_id() / 64 * TOKENS; first < end; first += 2 * TOKENS) {
    const uint count = min(end - first, TOKENS);
    take_tokens(args.m, row, x, first, count);
    for (uint t = 0; t < count; ++t)
      put_sum(args.bias, args.y, args.rows, row, first + t, zrt_kept_chains[kept_place(t)]);
  }
}
