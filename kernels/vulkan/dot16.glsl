// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/dot16.glsl: the order dot16 of a sum, whose sixteen chains are those of a workgroup's first lanes.
#ifndef ZRT_DOT16
#define ZRT_DOT16

#include "arithmetic.glsl"

shared vec4 zrt_chains[4];

/// Dot16's tree over sixteen chains.
real tree_of(vec4 a, vec4 b, vec4 c, vec4 d) {
  real4 lower = a + c;
  real4 upper = b + d;
  real4 four = lower + upper;
  real2 two = four.xy + four.zw;
  return two.x + two.y;
}

/// Sums the chains of the first sixteen lanes by dot16's tree; every lane of the workgroup takes part and gets the sum.
real tree16(float chain) {
  // A sum before this one has been read.
  meet();
  if (lane_id() < 16) zrt_chains[lane_id() / 4][lane_id() % 4] = chain;
  meet();
  return tree_of(zrt_chains[0], zrt_chains[1], zrt_chains[2], zrt_chains[3]);
}
/// The end of this lane's chain over `count` elements: those behind the sixteenth lane have none.
uint chain_end(uint count) { return lane_id() < 16 ? count : 0; }

#endif
