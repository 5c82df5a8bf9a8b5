// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/place.h: where a lane stands in the grid, and how the lanes of a workgroup meet.
#pragma once

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// A product that feeds an addition is fused only where fma is written.
#pragma OPENCL FP_CONTRACT OFF

#define ZRT_INLINE static inline __attribute__((always_inline))
/// A kernel whose workgroup is one row of `lanes`.
#define ZRT_KERNEL(lanes) __attribute__((reqd_work_group_size(lanes, 1, 1))) kernel void

ZRT_INLINE uint group_x(void) { return __builtin_amdgcn_workgroup_id_x(); }
ZRT_INLINE uint group_y(void) { return __builtin_amdgcn_workgroup_id_y(); }
/// The lane's number in its workgroup.
ZRT_INLINE uint lane_id(void) { return __builtin_amdgcn_workitem_id_x(); }

ZRT_INLINE float bits_to_float(uint bits) { return __builtin_astype(bits, float); }
ZRT_INLINE uint float_to_bits(float x) { return __builtin_astype(x, uint); }

ZRT_INLINE uint least(uint a, uint b) { return a < b ? a : b; }

/// Waits for all lanes of the workgroup; what they wrote to local memory is then seen by each. Only local memory is
/// ordered: no kernel here passes data between lanes through global memory. Where one writes what another has read there,
/// let_read() stands in its place.
ZRT_INLINE void meet(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

/// Waits until all lanes of the workgroup have what they read of global memory before it.
ZRT_INLINE void let_read(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

/// `x` of the lane whose number differs in the lowest bit.
ZRT_INLINE uint neighbour(uint x) { return __builtin_amdgcn_update_dpp(0, x, 0xb1, 0xf, 0xf, true); }
/// `x` of the lane whose number in its wave differs by the bits of `mask`, below 32.
ZRT_INLINE uint across(uint x, uint mask) {
  const uint here = __builtin_amdgcn_mbcnt_lo(~0u, 0u);
  return __builtin_amdgcn_ds_bpermute((here ^ mask) << 2, x);
}
