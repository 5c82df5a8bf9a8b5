// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/isa/dual_list.hpp: the halves of dual instructions: VOPD.
#pragma once

#include <zrt/emulator/isa/vector_list.hpp>

#include <array>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::emulator {

/// A half of a dual instruction does what the instruction `single` does.
[[nodiscard]] consteval Instruction dual(std::string_view name, u16 gfx11, u16 gfx12, std::string_view single) {
  for (const Instruction& i : kVectorInstructions)
    if (i.name == single) return {name, Encoding::vopd, gfx11, gfx12, i.semantics};
  return {};
}

/// VOPD. Opcodes from 16 on are of the second half alone.
inline constexpr auto kDualInstructions = std::to_array<Instruction>({
    dual("v_dual_fmac_f32", 0x00, 0x00, "v_fmac_f32"),
    dual("v_dual_fmaak_f32", 0x01, 0x01, "v_fmaak_f32"),
    dual("v_dual_fmamk_f32", 0x02, 0x02, "v_fmamk_f32"),
    dual("v_dual_mul_f32", 0x03, 0x03, "v_mul_f32"),
    dual("v_dual_add_f32", 0x04, 0x04, "v_add_f32"),
    dual("v_dual_sub_f32", 0x05, 0x05, "v_sub_f32"),
    dual("v_dual_subrev_f32", 0x06, 0x06, "v_subrev_f32"),
    dual("v_dual_mul_dx9_zero_f32", 0x07, 0x07, "v_mul_dx9_zero_f32"),
    dual("v_dual_mov_b32", 0x08, 0x08, "v_mov_b32"),
    dual("v_dual_cndmask_b32", 0x09, 0x09, "v_cndmask_b32"),
    dual("v_dual_max_f32", 0x0a, kAbsent, "v_max_f32"),
    dual("v_dual_max_num_f32", kAbsent, 0x0a, "v_max_num_f32"),
    dual("v_dual_min_f32", 0x0b, kAbsent, "v_min_f32"),
    dual("v_dual_min_num_f32", kAbsent, 0x0b, "v_min_num_f32"),
    dual("v_dual_dot2acc_f32_f16", 0x0c, kAbsent, "v_dot2acc_f32_f16"),
    dual("v_dual_add_nc_u32", 0x10, 0x10, "v_add_nc_u32"),
    dual("v_dual_lshlrev_b32", 0x11, 0x11, "v_lshlrev_b32"),
    dual("v_dual_and_b32", 0x12, 0x12, "v_and_b32"),
});

}  // namespace zrt::inline ZRT_ABI::emulator
ZRT_FP_END
