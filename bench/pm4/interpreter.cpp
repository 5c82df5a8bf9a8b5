// SPDX-License-Identifier: Apache-2.0
// bench/pm4/interpreter.cpp: how many wave instructions a second the RDNA interpreter runs on one core.
//
//     cmake --preset release && ninja -C build/release zrt_bench_pm4_interpreter
//     build/release/bin/zrt_bench_pm4_interpreter
#include <zrt/backend/pm4/emulator/run_dispatch.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace {

/// A loop of wave32 vector code for gfx1201, assembled by llvm-mc-19; the comment gives its instructions.
// s_mov_b32 s4, 0x4000; loop: v_add_f32, v_fmac_f32, v_mul_f32, v_lshlrev_b32, v_and_b32, v_add_nc_u32, v_cvt_f32_i32,
// v_bfe_u32, v_fmac_f32, v_max_num_f32, v_cmp_gt_f32, v_cndmask_b32, v_dual_mul_f32 :: v_dual_add_f32, v_dot4_i32_iu8,
// v_add_f32, v_xor_b32, s_add_co_i32, s_cmp_lg_u32, s_cbranch_scc1 loop; s_endpgm
auto loop = std::to_array<std::uint32_t>(
    {0xbe8400ff, 0x00004000, 0x06020702, 0x56080501, 0x100a0701, 0x300c0083, 0x360e0c8f, 0x4a100d07, 0x7e120b08,
     0xd610000a, 0x02210908, 0x56080b09, 0x2c160b04, 0x7c28090b, 0x02180b0b, 0xc8c80501, 0x0e0e0f03, 0xcc164010,
     0x7c421107, 0x06021d0c, 0x3a221110, 0x8104c104, 0xbf078004, 0xbfa2ffea, 0xbfb00000});

}  // namespace

int main() {
  using namespace zrt::pm4::emulator;
  AddressSpace memory;
  if (!memory.map(0x1000, std::as_writable_bytes(std::span(loop)), Permission::read | Permission::execute, "code"))
    return 1;
  Dispatch d;
  d.code = 0x1000;
  d.rsrc1 = 0xf0000 | 5;
  d.groups = {16, 1, 1};
  d.threads = {32, 1, 1};
  for (int i = 0; i < 5; ++i) {
    const std::clock_t start = std::clock();
    const auto counters = run(d, memory);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (!counters) return 1;
    std::printf("%.1f million wave instructions a second\n",
                static_cast<double>(counters->wave_instructions) / seconds * 1e-6);
  }
  return 0;
}
