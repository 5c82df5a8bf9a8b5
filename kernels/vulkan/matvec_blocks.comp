#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/matvec_blocks.comp: a matrix of a block type times rounded activations, for generated tokens.
//
// makes: matvec_q8_0 TYPE_Q8_0
// makes: matvec_q4_0 TYPE_Q4_0
// makes: matvec_mxfp4 TYPE_MXFP4
// makes: matvec_q4_k TYPE_Q4_K
// makes: matvec_q5_k TYPE_Q5_K
// makes: matvec_q6_k TYPE_Q6_K
// makes one for each TYPE of plane_types.glsl: matvec_
// Grid: (ceil(rows / 32), ceil(tokens / 8)). A lane has a row, and multiplies what it loads of it with up to eight tokens.
// Canonical: the order `blocks`. At most 209,000 columns.
#define LANES 32
#define TOKENS 8
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
  const uint row = group_x() * kGroupRows + lane_id(), first = group_y() * TOKENS;
  const uint count = min(args.tokens - first, TOKENS);
  const Activations x = Activations(args.xq, args.xd, args.cols);
  if (row >= args.rows) return;
  if (count == 1) {
    put_sum(args.bias, args.y, args.rows, row, first, row_product(args.m, row, x, first));
    return;
  }
  take_tokens(args.m, row, x, first, count);
  for (uint t = 0; t < count; ++t)
    put_sum(args.bias, args.y, args.rows, row, first + t, zrt_kept_chains[kept_place(t)]);
}
