// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/order.glsl: logits in the order in which they are chosen: larger ones first, then smaller indices, NaN last.
#ifndef ZRT_ORDER
#define ZRT_ORDER

#include "arithmetic.glsl"

/// A number that is smaller for a larger logit, the same for both zeros, and largest for a NaN.
uint key_of(float x) {
  const uint bits = floatBitsToUint(x);
  if (is_nan(x)) return 0xffffffffu;
  if (x == 0.0) return 0x7fffffffu;
  return bits >> 31 != 0 ? bits : ~(bits | 0x80000000u);
}
/// The logit of a key that is no NaN's.
real logit_of(uint key) { return uintBitsToFloat(key >> 31 != 0 ? key : ~key & 0x7fffffffu); }

bool comes_before(uint key, uint id, uint other_key, uint other_id) {
  return key < other_key || (key == other_key && id < other_id);
}

/// A candidate for each lane of a workgroup of 1024.
shared uint tile_keys[1024];
shared uint tile_ids[1024];

/// Of 32 candidates in the tile from the lane's own on, `stride` apart, the first takes the lane's place.
void take_first(uint stride) {
  const uint lane = lane_id();
  uint key = tile_keys[lane], id = tile_ids[lane];
  for (uint i = lane + stride; i < lane + 32 * stride; i += stride) {
    if (!comes_before(tile_keys[i], tile_ids[i], key, id)) continue;
    key = tile_keys[i];
    id = tile_ids[i];
  }
  tile_keys[lane] = key;
  tile_ids[lane] = id;
}
/// Moves the first of each lane's candidates in the tile to its begin: by few lanes, as meetings of all take longer.
void find_first() {
  meet();
  if (lane_id() < 32) take_first(32);
  meet();
  if (lane_id() == 0) take_first(1);
  meet();
}

#endif
