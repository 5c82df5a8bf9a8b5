// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/tile.h: tiles of 16 x 16 on the matrix instructions of a wave, whose layout differs between the targets.
#pragma once

#include "place.h"

// Words of bytes of a row's run of 16 that a lane holds: rows are lanes modulo 16. GFX12 halves the
// run between the halves of the wave; GFX11 has it whole in both.
#if defined(__GFX12__)
typedef uint2 Words;
#define WORDS 2
ZRT_INLINE uint run_offset(void) { return lane_id() / 16 % 2 * 8; }
ZRT_INLINE int8 tile_product(Words rows, Words columns, int8 sum) {
  return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, __builtin_astype(rows, int2), true,
                                                          __builtin_astype(columns, int2), sum, false);
}
/// Element `e` of a lane is of this row of the tile; its column is the lane modulo 16.
ZRT_INLINE uint tile_row(uint e) { return lane_id() / 16 % 2 * 8 + e; }
/// Where row `row` is among all lanes' elements: the eight of the wave's first half, then those of the second.
ZRT_INLINE uint tile_place(uint row) { return row; }
#else
typedef uint4 Words;
#define WORDS 4
ZRT_INLINE uint run_offset(void) { return 0; }
/// `x` of the lane at the same place in the wave's other half.
ZRT_INLINE uint other_half(uint x) {
  return __builtin_amdgcn_permlanex16(0, x, 0x76543210, 0xfedcba98, true, false);
}
ZRT_INLINE int8 tile_product(Words rows, Words columns, int8 sum) {
  return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, __builtin_astype(rows, int4), true,
                                                    __builtin_astype(columns, int4), sum, false);
}
ZRT_INLINE uint tile_row(uint e) { return e * 2 + lane_id() / 16 % 2; }
ZRT_INLINE uint tile_place(uint row) { return row % 2 * 8 + row / 2; }
#endif
