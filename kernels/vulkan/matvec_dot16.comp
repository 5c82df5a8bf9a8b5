#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/matvec_dot16.comp: a matrix of F32, F16 or BF16 times activations of f32, for generated tokens.
//
// makes: matvec_f32 ELEMENT=32
// makes: matvec_f16 ELEMENT=16
// makes: matvec_bf16 ELEMENT=116
// Grid: (ceil(rows / 32), ceil(tokens / 4)). A lane has a row, of which it loads sixteen columns at once and multiplies
// them with up to four tokens, whose chains are in shared memory between steps. Canonical: the order dot16.
//
// A lane takes cols / 16 * (tokens + 2) turns of loops: at most 174,000 columns.
#include "dot16_product.glsl"
#include "rows.glsl"

ZRT_LANES(32);
ZRT_ARGUMENTS {
  uint64_t w, x, bias, y;
  uint rows, cols, tokens;
};

const uint kTokens = 4;
shared vec4 kept[kTokens * 4 * 32];

uint kept_place(uint token, uint i) { return (token * 4 + i) * 32 + lane_id(); }
Chains kept_of(uint t) {
  return Chains(kept[kept_place(t, 0)], kept[kept_place(t, 1)], kept[kept_place(t, 2)], kept[kept_place(t, 3)]);
}
void keep(uint t, Chains chains) {
  kept[kept_place(t, 0)] = chains.a;
  kept[kept_place(t, 1)] = chains.b;
  kept[kept_place(t, 2)] = chains.c;
  kept[kept_place(t, 3)] = chains.d;
}

void take_several(Arguments args, uint row, uint first, uint count) {
  for (uint t = 0; t < count; ++t) keep(t, no_chains());
  for (uint at = 0; at < args.cols; at += 16) {
    const Weights weights = weights_of(args.w, row, at, args.cols);
    for (uint t = 0; t < count; ++t)
      keep(t, multiplied(weights, args.x + (uint64_t(first + t) * args.cols + at) * 4, kept_of(t)));
  }
  for (uint t = 0; t < count; ++t)
    put_sum(args.bias, args.y, args.rows, row, first + t, sum_of(kept_of(t)));
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint row = group_x() * kGroupRows + lane_id(), first = group_y() * kTokens;
  const uint count = min(args.tokens - first, kTokens);
  if (row >= args.rows) return;
  if (count > 1) {
    take_several(args, row, first, count);
    return;
  }
  const uint64_t x = args.x + uint64_t(first) * args.cols * 4;
  put_sum(args.bias, args.y, args.rows, row, first, row_product(args.w, row, x, args.cols));
}
