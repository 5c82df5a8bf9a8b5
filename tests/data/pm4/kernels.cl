// SPDX-License-Identifier: Apache-2.0
// Two kernels for the tests of code objects. kernels-TARGET.hsaco comes from
//   clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=TARGET -nogpulib -O2 kernels.cl -o kernels-TARGET.hsaco

// `scale` stands for a constant that is put in before the kernel is uploaded.
__attribute__((reqd_work_group_size(256, 1, 1))) kernel void scaled_add(global const float* a, global const float* b,
                                                                        global float* out, uint n) {
  uint scale;
  __asm("s_mov_b32 %0, 0xcafe0001" : "=s"(scale));
  const uint i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) out[i] = a[i] + b[i] * (float)scale;
}

__attribute__((reqd_work_group_size(32, 2, 1))) kernel void reverse_rows(global const uint* in, global uint* out,
                                                                         ulong offset, uint mask) {
  local uint rows[2][32];
  const uint x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
  rows[y][x] = in[y * 32 + x] & mask;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
  out[offset + y * 32 + x] = rows[y][31 - x];
}
