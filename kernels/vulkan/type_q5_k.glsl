// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/type_q5_k.glsl: blocks of Q5_K.
#define FIVE_BITS 1
#include "type_offset_k.glsl"
