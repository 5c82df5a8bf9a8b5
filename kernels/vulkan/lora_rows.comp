#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/lora_rows.comp: rows of activations times the matrix of the adapter that each names, and what is added to.
//
// makes: lora_rows ELEMENT=32
// w: the matrices of all adapters, as one of adapters * rows; ids [tokens]. Grid: (ceil(rows / 32), tokens). A token
// whose id is no adapter's has y; one of 0 or above then sets fault. y may be absent, and nothing is written then; y may
// be sum. Canonical: the order dot16, y added last. A lane takes cols / 16 turns of a loop.
#include "dot16_product.glsl"

ZRT_LANES(32);
ZRT_ARGUMENTS {
  uint64_t w, x, ids, y, sum, fault;
  uint rows, cols, adapters;
};

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint token = group_y(), row = group_x() * kGroupRows + lane_id();
  const uint id = word_at(args.ids, token);
  const uint64_t at = uint64_t(token) * args.rows + row;
  if (id >= args.adapters) {
    if (int(id) >= 0 && group_x() == 0 && lane_id() == 0) put_word(args.fault, 0, 1);
    if (args.y != 0 && row < args.rows) put_word(args.sum, at, word_at(args.y, at));
    return;
  }
  if (row >= args.rows) return;
  real sum = row_product(args.w, id * args.rows + row, args.x + uint64_t(token) * args.cols * 4, args.cols);
  if (args.y != 0) sum = real_at(args.y, at) + sum;
  put_real(args.sum, at, sum);
}
