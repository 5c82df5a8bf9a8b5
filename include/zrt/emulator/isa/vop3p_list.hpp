// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/isa/vop3p_list.hpp: packed, mixed and matrix instructions: VOP3P.
#pragma once

#include <zrt/emulator/ieee_mode.hpp>
#include <zrt/emulator/matrix.hpp>

#include <array>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::emulator {

/// VOP3P.
inline constexpr auto kVop3pInstructions = std::to_array<Instruction>({
    {"v_pk_mad_i16", Encoding::vop3p, 0x00, 0x00, kPackedOf<([](i16 a, i16 b, i16 c) {
       return static_cast<i16>(u32{static_cast<u16>(a)} * static_cast<u16>(b) + static_cast<u16>(c));
     })>},
    {"v_pk_mul_lo_u16", Encoding::vop3p, 0x01, 0x01,
     kPackedOf<([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); })>},
    {"v_pk_add_i16", Encoding::vop3p, 0x02, 0x02, kPackedOf<([](i16 a, i16 b) { return static_cast<i16>(a + b); })>},
    {"v_pk_sub_i16", Encoding::vop3p, 0x03, 0x03, kPackedOf<([](i16 a, i16 b) { return static_cast<i16>(a - b); })>},
    {"v_pk_lshlrev_b16", Encoding::vop3p, 0x04, 0x04,
     kPackedOf<([](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); })>},
    {"v_pk_lshrrev_b16", Encoding::vop3p, 0x05, 0x05,
     kPackedOf<([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); })>},
    {"v_pk_ashrrev_i16", Encoding::vop3p, 0x06, 0x06,
     kPackedOf<([](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); })>},
    {"v_pk_max_i16", Encoding::vop3p, 0x07, 0x07,
     kPackedOf<([](i16 a, i16 b) { return static_cast<i16>(lane::larger(a, b)); })>},
    {"v_pk_min_i16", Encoding::vop3p, 0x08, 0x08,
     kPackedOf<([](i16 a, i16 b) { return static_cast<i16>(lane::smaller(a, b)); })>},
    {"v_pk_mad_u16", Encoding::vop3p, 0x09, 0x09, kPackedOf<([](u16 a, u16 b, u16 c) {
       return static_cast<u16>(u32{static_cast<u16>(a)} * static_cast<u16>(b) + static_cast<u16>(c));
     })>},
    {"v_pk_add_u16", Encoding::vop3p, 0x0a, 0x0a, kPackedOf<([](u16 a, u16 b) { return static_cast<u16>(a + b); })>},
    {"v_pk_sub_u16", Encoding::vop3p, 0x0b, 0x0b, kPackedOf<([](u16 a, u16 b) { return static_cast<u16>(a - b); })>},
    {"v_pk_max_u16", Encoding::vop3p, 0x0c, 0x0c,
     kPackedOf<([](u16 a, u16 b) { return static_cast<u16>(lane::larger(a, b)); })>},
    {"v_pk_min_u16", Encoding::vop3p, 0x0d, 0x0d,
     kPackedOf<([](u16 a, u16 b) { return static_cast<u16>(lane::smaller(a, b)); })>},
    {"v_pk_fma_f16", Encoding::vop3p, 0x0e, 0x0e, kPackedOf<lane::fma_f16>},
    {"v_pk_add_f16", Encoding::vop3p, 0x0f, 0x0f,
     kPackedOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return x + y; })>(a, b); })>},
    {"v_pk_mul_f16", Encoding::vop3p, 0x10, 0x10,
     kPackedOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return x * y; })>(a, b); })>},
    {"v_pk_min_f16", Encoding::vop3p, 0x11, kAbsent,
     kPackedByIeeeMode<([]<class Rule>(Rule, f16 x, f16 y) { return Rule::min(x, y); })>},
    {"v_pk_max_f16", Encoding::vop3p, 0x12, kAbsent,
     kPackedByIeeeMode<([]<class Rule>(Rule, f16 x, f16 y) { return Rule::max(x, y); })>},
    {"v_dot2_f32_f16", Encoding::vop3p, 0x13, 0x13,
     dot_of(&pair_dot<f16>, Type::f32, kPairDot, Type::f16).with_lane_permutation()},
    {"v_dot4_i32_iu8", Encoding::vop3p, 0x16, 0x16, dot_of(&integer_dot<8, true>, Type::i32, kMixedDot)},
    {"v_dot4_u32_u8", Encoding::vop3p, 0x17, 0x17, dot_of(&integer_dot<8, false>, Type::u32, kUnsignedDot)},
    {"v_dot8_i32_iu4", Encoding::vop3p, 0x18, 0x18, dot_of(&integer_dot<4, true>, Type::i32, kMixedDot)},
    {"v_dot8_u32_u4", Encoding::vop3p, 0x19, 0x19, dot_of(&integer_dot<4, false>, Type::u32, kUnsignedDot)},
    {"v_dot2_f32_bf16", Encoding::vop3p, 0x1a, 0x1a, dot_of(&pair_dot<BFloat16>, Type::f32, kPairDot, Type::bf16)},
    {"v_pk_min_num_f16", Encoding::vop3p, kAbsent, 0x1b,
     kPackedOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return lane::min_num(x, y); })>(a, b); })>},
    {"v_pk_max_num_f16", Encoding::vop3p, kAbsent, 0x1c,
     kPackedOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return lane::max_num(x, y); })>(a, b); })>},
    {"v_pk_minimum_f16", Encoding::vop3p, kAbsent, 0x1d,
     kPackedOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return lane::minimum(x, y); })>(a, b); })>},
    {"v_pk_maximum_f16", Encoding::vop3p, kAbsent, 0x1e,
     kPackedOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return lane::maximum(x, y); })>(a, b); })>},
    {"v_fma_mix_f32", Encoding::vop3p, 0x20, 0x20, mix_of(&mix<MixResult::whole>)},
    {"v_fma_mixlo_f16", Encoding::vop3p, 0x21, 0x21, mix_of(&mix<MixResult::low_half>)},
    {"v_fma_mixhi_f16", Encoding::vop3p, 0x22, 0x22, mix_of(&mix<MixResult::high_half>)},
    {"v_wmma_f32_16x16x16_f16", Encoding::vop3p, 0x40, 0x40,
     matrix_of(&matrix_multiply<Element::half, f32, 16>, Type::b128, Type::b256, kTile)},
    {"v_wmma_f32_16x16x16_bf16", Encoding::vop3p, 0x41, 0x41,
     matrix_of(&matrix_multiply<Element::brain, f32, 16>, Type::b128, Type::b256, kTile)},
    {"v_wmma_f16_16x16x16_f16", Encoding::vop3p, 0x42, 0x42,
     matrix_of(&matrix_multiply<Element::half, f16, 16>, Type::b128, Type::b128, kNarrowTile)},
    {"v_wmma_bf16_16x16x16_bf16", Encoding::vop3p, 0x43, 0x43,
     matrix_of(&matrix_multiply<Element::brain, BFloat16, 16>, Type::b128, Type::b128, kNarrowTile)},
    {"v_wmma_i32_16x16x16_iu8", Encoding::vop3p, 0x44, 0x44,
     matrix_of(&matrix_multiply<Element::iu8, i32, 16>, Type::u64, Type::b256, kIntegerTile)},
    {"v_wmma_i32_16x16x16_iu4", Encoding::vop3p, 0x45, 0x45,
     matrix_of(&matrix_multiply<Element::iu4, i32, 16>, Type::u32, Type::b256, kIntegerTile)},
    {"v_wmma_i32_16x16x32_iu4", Encoding::vop3p, kAbsent, 0x4a,
     matrix_of(&matrix_multiply<Element::iu4, i32, 32>, Type::u64, Type::b256, kIntegerTile)},
});

}  // namespace zrt::inline ZRT_ABI::emulator
ZRT_FP_END
