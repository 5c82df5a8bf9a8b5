#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/matmul_dot16.comp: a matrix of F32, F16 or BF16 times activations of f32, for prompt tokens.
//
// makes: matmul_f32 ELEMENT=32
// makes: matmul_f16 ELEMENT=16
// makes: matmul_bf16 ELEMENT=116
// Grid: (ceil(rows / 64), ceil(tokens / 64)). A lane has a row and every eighth token. Canonical: the order dot16, so that
// a token gets the same bits as from the matrix-vector kernels.
//
// A lane takes 8 * (cols / 16 + 2) turns of loops: at most 130,000 columns.
#include "dot16_product.glsl"
#include "rows.glsl"

ZRT_LANES(512);
ZRT_ARGUMENTS {
  uint64_t w, x, bias, y;
  uint rows, cols, tokens;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint row = group_x() * 64 + lane_id() % 64, first = group_y() * 64, end = min(args.tokens, first + 64);
  if (row >= args.rows) return;
  for (uint token = first + lane_id() / 64; token < end; token += 8) {
    const uint64_t x = args.x + uint64_t(token) * args.cols * 4;
    put_sum(args.bias, args.y, args.rows, row, token, row_product(args.w, row, x, args.cols));
  }
}
