// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/type_q4_k.glsl: blocks of Q4_K.
#define FIVE_BITS 0
#include "type_offset_k.glsl"
