// SPDX-License-Identifier: Apache-2.0
// tests/data/docs/c_export.h: what stands before an exported function.
#include <math.h>
#include <stdint.h>
#include <string.h>

float zrt_load_f32(const void *from, uint64_t index);
void zrt_store_f32(void *to, uint64_t index, float value);
float zrt_tree_f32(const float lane[16]);
// around each block:
BLOCK
