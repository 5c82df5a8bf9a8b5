// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/experts.glsl: which rows of a stack of matrices a lane takes, where each token chooses matrices of it.
//
// A token chooses `used` experts, ids [tokens][used] ascending. A pair is a token and one of them. Without ids, all of
// them count, in order. Grid: (ceil(rows / 32), pairs). A pair whose id does not count gives zeros, and sets fault.
//
// The matrices lie as one of experts * stride rows; the product takes `rows` rows of each, from row `first` on. bias
// [experts][rows] lies as a matrix of f32 does.
#ifndef ZRT_EXPERTS
#define ZRT_EXPERTS

#include "pieces.glsl"

/// What stands behind the matrix's parts and the activations.
struct ExpertArguments {
  uint64_t bias;   // may be absent
  uint64_t ids;    // may be absent
  uint64_t y;      // [pairs][y_stride]
  uint64_t fault;  // absent without ids
  uint rows, cols, used, experts, stride, first;
  uint by_pair;  // 1: activations have a row for each pair; 0: for each token
  uint y_stride;
};

struct ExpertRow {
  bool counts, is_row;
  uint expert, row;  // the lane's row of the product
  uint place;        // its row of the stack
  uint pair, x_row;
};

/// That id `at` of a token counts: it ascends from those before it that count, and is an expert's.
bool id_counts(uint64_t ids, uint at, uint experts) {
  int last = -1;
  bool counts = false;
  for (uint j = 0; j <= at; ++j) {
    const int id = int(word_at(ids, j));
    counts = id > last && uint(id) < experts;
    last = counts ? id : last;
  }
  return counts;
}

ExpertRow expert_row(ExpertArguments a) {
  ExpertRow r;
  r.pair = group_y();
  const uint token = r.pair / a.used, at = r.pair - token * a.used;
  const uint64_t ids = a.ids + uint64_t(token) * a.used * 4;
  r.counts = a.ids == 0 || id_counts(ids, at, a.experts);
  r.expert = a.ids == 0 ? at : 0;
  if (a.ids != 0 && r.counts) r.expert = word_at(ids, at);
  r.x_row = a.by_pair != 0 ? r.pair : token;
  r.row = group_x() * kGroupRows + lane_id();
  r.is_row = r.row < a.rows;
  r.place = r.expert * a.stride + a.first + r.row;
  return r;
}

void put_expert(ExpertArguments a, ExpertRow r, float sum) {
  real biased = sum;
  if (a.bias != 0) biased = sum + real_at(a.bias, real_place(r.expert, r.row, a.rows));
  put_real(a.y, uint64_t(r.pair) * a.y_stride + r.row, biased);
}
void put_nothing(ExpertArguments a, ExpertRow r) {
  if (lane_id() == 0) put_word(a.fault, 0, 1);
  if (r.is_row) put_word(a.y, uint64_t(r.pair) * a.y_stride + r.row, 0);
}

#endif
