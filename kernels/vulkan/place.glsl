// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/place.glsl: where a lane stands in the grid, and where its launch's arguments are.
//
// A file comes before all others that it includes. Each kernel declares its arguments as a block that is read through
// the address in the push constant: the buffers' addresses in order, then values of 4 bytes.
#ifndef ZRT_PLACE
#define ZRT_PLACE

#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_float64 : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_control_flow_attributes : require

// A product that feeds an addition is fused only where zrt_fma is written; kernels/build_vulkan.py marks what the
// compiler leaves unmarked. Parameters of functions take no such qualifier.
#define real precise float
#define real2 precise vec2
#define real4 precise vec4

/// A kernel whose workgroup is one row of `lanes`.
#define ZRT_LANES(lanes) layout(local_size_x = lanes, local_size_y = 1, local_size_z = 1) in
#define ZRT_ARGUMENTS layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Arguments

/// A device that takes fewer workgroups on an axis gets a large grid as several launches.
layout(push_constant, scalar) uniform Launch {
  uint64_t address_of_arguments;
  uint first_group;
};

uint group_x() { return first_group + gl_WorkGroupID.x; }
uint group_y() { return gl_WorkGroupID.y; }
/// The lane's number in its workgroup.
uint lane_id() { return gl_LocalInvocationIndex; }

/// Waits for all lanes of the workgroup; what they wrote to shared memory is then seen by each.
void meet() {
  memoryBarrierShared();
  barrier();
}
/// Waits until all lanes of the workgroup have what they read of global memory before it.
void let_read() {
  memoryBarrierBuffer();
  barrier();
}

#endif
