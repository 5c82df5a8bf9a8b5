// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_q4_k.cl: a Q4_K matrix times rounded activations, for generated tokens.
//
// Grid: (ceil(rows / 32), ceil(tokens / 8)). Canonical: the order `blocks`, the offset's step behind the scale's.
#define FIVE_BITS 0
#include "matvec_offset_k.h"

ZRT_KERNEL(32)
matvec_q4_k(global const char* q, global const char* head, global const char* xq, global const float* xd,
            global const float* bias, global float* y, uint rows, uint cols, uint tokens) {
  local float chains[TOKENS * 32];
  const Part here = part_of(group_x(), GROUP_ROWS, rows), batch = part_of(group_y(), TOKENS, tokens);
  const ulong blocks = (ulong)here.first * (cols / 256);
  const Matrix m = {q + blocks * 128, 0, head + blocks * 16};
  product(m, activations_of(xq, xd, cols, batch), chains, result_of(bias, y, rows, here, batch));
}

ZRT_KERNEL(32)
experts_q4_k(global const char* q, global const char* head, global const char* xq, global const float* xd,
             EXPERT_ARGUMENTS) {
  const ExpertOperands operands = EXPERT_OPERANDS;
  const ExpertShape shape = EXPERT_SHAPE;
  const ExpertRows here = expert_rows(operands, shape);
  if (!here.counts) return put_nothing(here, operands, shape);
  const ulong blocks = (ulong)here.group * GROUP_ROWS * (cols / 256);
  const Matrix m = {q + blocks * 128, 0, head + blocks * 16};
  take_expert(m, here, operands, shape, xq, xd);
}
