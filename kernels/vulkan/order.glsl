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

/// Moves the first of each lane's candidates in the tile to its begin.
void find_first() {
  for (uint width = 512; width > 0; width /= 2) {
    meet();
    const uint a = lane_id(), b = a + width;
    if (a < width && comes_before(tile_keys[b], tile_ids[b], tile_keys[a], tile_ids[a])) {
      tile_keys[a] = tile_keys[b];
      tile_ids[a] = tile_ids[b];
    }
  }
  meet();
}

#endif
