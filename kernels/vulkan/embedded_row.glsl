// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/embedded_row.glsl: the row of a table that a token's id names.
#ifndef ZRT_EMBEDDED_ROW
#define ZRT_EMBEDDED_ROW

#include "memory.glsl"

/// An id outside the table sets fault and reads row 0, as the op does.
uint row_of(uint64_t ids, uint64_t fault, uint rows) {
  const uint id = word_at(ids, group_y());
  if (id < rows) return id;
  if (lane_id() == 0) put_word(fault, 0, 1);
  return 0;
}

#endif
