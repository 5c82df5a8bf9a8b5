// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/experts.h: which rows of a stack of matrices a wave takes, where each token chooses matrices of the stack.
//
// A token chooses `used` experts, ids [tokens][used] ascending. A pair is a token and one of them. Without ids, all of
// them count, in order. Grid: (ceil(rows / 32), pairs). A pair whose id does not count gives zeros, and sets *fault.
//
// The matrices lie as one of experts * stride rows; the product takes `rows` rows of each, from row `first` on. A wave's
// 32 rows may lie in two groups of the matrix. bias [experts][rows] lies as a matrix of f32 does.
#pragma once

#include "pieces.h"

/// Where a lane's row is: its number in its group, and how many groups that is behind the wave's first.
typedef struct {
  uint row, skip;
} Lane;
/// The lane's own number, where the wave's rows are those of one group.
ZRT_INLINE Lane own_lane(void) {
  const Lane lane = {lane_id(), 0};
  return lane;
}
/// The lane's row among those from `first` on, of which `count` are there: the first is in the wave's first group. Lanes
/// without a row have the last one again: nothing more is read.
ZRT_INLINE Lane lane_from(uint first, uint count) {
  const uint mine = first + least(lane_id(), count - 1);
  const Lane lane = {mine % GROUP_ROWS, mine / GROUP_ROWS - first / GROUP_ROWS};
  return lane;
}

typedef struct {
  global const float* bias;  // may be absent
  global const int* ids;     // may be absent
  global float* y;           // [pairs][y_stride]
  global uint* fault;        // absent with ids
} ExpertOperands;
typedef struct {
  uint rows, cols, used, experts, stride, first;
  uint by_pair;  // 1: activations have a row for each pair; 0: for each token
  uint y_stride;
} ExpertShape;

#define EXPERT_ARGUMENTS                                                                                               \
  global const float *bias, global const int *ids, global float *y, global uint *fault, uint rows, uint cols,          \
      uint used, uint experts, uint stride, uint first, uint by_pair, uint y_stride
#define EXPERT_OPERANDS ((ExpertOperands){bias, ids, y, fault})
#define EXPERT_SHAPE ((ExpertShape){rows, cols, used, experts, stride, first, by_pair, y_stride})

/// That id `at` of a token counts: it ascends from those before it that count, and is an expert's.
ZRT_INLINE bool id_counts(constant const int* ids, uint at, uint experts) {
  int last = -1;
  bool counts = false;
  for (uint j = 0; j <= at; ++j) {
    const int id = ids[j];
    counts = id > last && (uint)id < experts;
    last = counts ? id : last;
  }
  return counts;
}

typedef struct {
  bool counts, has_row;
  uint expert, row;  // the lane's row of the product
  uint group;        // the first group of the wave's rows
  uint pair, x_row;
  Lane lane;
} ExpertRows;

ZRT_INLINE ExpertRows expert_rows(ExpertOperands operands, ExpertShape shape) {
  ExpertRows r;
  r.pair = group_y();
  const uint token = r.pair / shape.used, at = r.pair - token * shape.used;
  // In the address space of what no wave writes, whose loads of one address for all lanes are scalar.
  constant const int* ids = (constant const int*)(ulong)(operands.ids + (ulong)token * shape.used);
  r.counts = operands.ids == 0 || id_counts(ids, at, shape.experts);
  r.expert = operands.ids == 0 ? at : r.counts ? (uint)ids[at] : 0;
  r.x_row = shape.by_pair != 0 ? r.pair : token;
  const uint begin = group_x() * GROUP_ROWS;
  r.row = begin + lane_id();
  r.has_row = r.row < shape.rows;
  const uint first = r.expert * shape.stride + shape.first + begin;
  r.group = first / GROUP_ROWS;
  r.lane = lane_from(first, shape.rows - begin);
  return r;
}

ZRT_INLINE void put_row(ExpertRows r, ExpertOperands operands, ExpertShape shape, float sum) {
  operands.y[(ulong)r.pair * shape.y_stride + r.row] =
      operands.bias == 0 ? sum : sum + operands.bias[real_place(r.expert, r.row, shape.rows)];
}
ZRT_INLINE void put_nothing(ExpertRows r, ExpertOperands operands, ExpertShape shape) {
  if (lane_id() == 0) *operands.fault = 1;
  if (r.has_row) operands.y[(ulong)r.pair * shape.y_stride + r.row] = 0.0f;
}
