// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/isa/vop3_list.hpp: vector instructions that only VOP3 has.
#pragma once

#include <zrt/emulator/isa/vector_list.hpp>

#include <array>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::emulator {

/// v_mad_i64_i32: the mask is bit 64 of the exact sum, which is its sign.
[[nodiscard]] constexpr WithMask<u64> wide_multiply_add(i32 a, i32 b, u64 c) noexcept {
  const auto p = static_cast<u64>(i64{a} * b), sum = p + c;
  const bool overflows = (~(p ^ c) & (p ^ sum)) >> 63 != 0;
  return {sum, (sum >> 63 != 0) != overflows};
}
/// Marks a vector instruction of scalar operands alone.
[[nodiscard]] constexpr Semantics of_scalars(Semantics s) noexcept { return to_scalar(s).with_scalar_sources(7); }

/// VOP3 without those that VOP1, VOP2 and VOPC have.
inline constexpr auto kVop3Instructions = std::to_array<Instruction>({
    {"v_mad_i32_i24", Encoding::vop3, 0x20a, 0x20a,
     kLanesOf<([](u32 a, u32 b, u32 c) { return static_cast<u32>(lane::low24(a) * lane::low24(b)) + c; })>},
    {"v_mad_u32_u24", Encoding::vop3, 0x20b, 0x20b,
     kLanesOf<([](u32 a, u32 b, u32 c) { return (a & 0xffffffu) * (b & 0xffffffu) + c; })>},
    {"v_bfe_u32", Encoding::vop3, 0x210, 0x210, kShiftOf<lane::bfe, 6>},
    {"v_bfe_i32", Encoding::vop3, 0x211, 0x211, kShiftOf<lane::bfe_signed, 6>},
    {"v_bfi_b32", Encoding::vop3, 0x212, 0x212, kLanesOf<([](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); })>},
    {"v_fma_f32", Encoding::vop3, 0x213, 0x213, kMultiplyAdd},
    {"v_fma_f64", Encoding::vop3, 0x214, 0x214, kLanesOf<([](f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); })>},
    {"v_alignbit_b32", Encoding::vop3, 0x216, 0x216,
     kLanesOf<([](u32 a, u32 b, u32 c) { return static_cast<u32>((b | u64{a} << 32) >> (c & 31u)); })>},
    {"v_alignbyte_b32", Encoding::vop3, 0x217, 0x217,
     kLanesOf<([](u32 a, u32 b, u32 c) { return static_cast<u32>((b | u64{a} << 32) >> 8 * (c & 3u)); })>},
    {"v_min3_f32", Encoding::vop3, 0x219, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f32 x, f32 y, f32 z) { return Rule::min(Rule::min(x, y), z); })>},
    {"v_min3_i32", Encoding::vop3, 0x21a, 0x21a,
     kLanesOf<([](i32 a, i32 b, i32 c) { return lane::smaller(lane::smaller(a, b), c); })>},
    {"v_min3_u32", Encoding::vop3, 0x21b, 0x21b,
     kLanesOf<([](u32 a, u32 b, u32 c) { return lane::smaller(lane::smaller(a, b), c); })>},
    {"v_max3_f32", Encoding::vop3, 0x21c, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f32 x, f32 y, f32 z) { return Rule::max(Rule::max(x, y), z); })>},
    {"v_max3_i32", Encoding::vop3, 0x21d, 0x21d,
     kLanesOf<([](i32 a, i32 b, i32 c) { return lane::larger(lane::larger(a, b), c); })>},
    {"v_max3_u32", Encoding::vop3, 0x21e, 0x21e,
     kLanesOf<([](u32 a, u32 b, u32 c) { return lane::larger(lane::larger(a, b), c); })>},
    {"v_med3_f32", Encoding::vop3, 0x21f, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f32 x, f32 y, f32 z) { return lane::med3_by<Rule>(x, y, z); })>},
    {"v_med3_i32", Encoding::vop3, 0x220, 0x220, kLanesOf<([](i32 a, i32 b, i32 c) { return lane::med3(a, b, c); })>},
    {"v_med3_u32", Encoding::vop3, 0x221, 0x221, kLanesOf<([](u32 a, u32 b, u32 c) { return lane::med3(a, b, c); })>},
    {"v_sad_u8", Encoding::vop3, 0x222, 0x222, kCalledOf<lane::sum_of_differences>},
    {"v_sad_hi_u8", Encoding::vop3, 0x223, 0x223,
     kCalledOf<([](u32 a, u32 b, u32 c) { return (lane::sum_of_differences(a, b, 0) << 16) + c; })>},
    {"v_sad_u16", Encoding::vop3, 0x224, 0x224,
     kCalledOf<([](u32 a, u32 b, u32 c) { return lane::sum_of_half_differences(a, b, c); })>},
    {"v_sad_u32", Encoding::vop3, 0x225, 0x225,
     kLanesOf<([](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; })>},
    {"v_div_fixup_f32", Encoding::vop3, 0x227, 0x227, kCalledOf<lane::div_fixup>},
    {"v_min3_num_f32", Encoding::vop3, kAbsent, 0x229,
     kCalledOf<([](f32 x, f32 y, f32 z) { return lane::min_num(lane::min_num(x, y), z); })>},
    {"v_max3_num_f32", Encoding::vop3, kAbsent, 0x22a,
     kCalledOf<([](f32 x, f32 y, f32 z) { return lane::max_num(lane::max_num(x, y), z); })>},
    {"v_min3_num_f16", Encoding::vop3, kAbsent, 0x22b, kCalledOf<([](f16 a, f16 b, f16 c) {
       const f32 x = to_f32(a), y = to_f32(b), z = to_f32(c);
       return to_f16(lane::min_num(lane::min_num(x, y), z));
     })>},
    {"v_max3_num_f16", Encoding::vop3, kAbsent, 0x22c, kCalledOf<([](f16 a, f16 b, f16 c) {
       const f32 x = to_f32(a), y = to_f32(b), z = to_f32(c);
       return to_f16(lane::max_num(lane::max_num(x, y), z));
     })>},
    {"v_minimum3_f32", Encoding::vop3, kAbsent, 0x22d,
     kCalledOf<([](f32 x, f32 y, f32 z) { return lane::minimum(lane::minimum(x, y), z); })>},
    {"v_maximum3_f32", Encoding::vop3, kAbsent, 0x22e,
     kCalledOf<([](f32 x, f32 y, f32 z) { return lane::maximum(lane::maximum(x, y), z); })>},
    {"v_minimum3_f16", Encoding::vop3, kAbsent, 0x22f, kCalledOf<([](f16 a, f16 b, f16 c) {
       const f32 x = to_f32(a), y = to_f32(b), z = to_f32(c);
       return to_f16(lane::minimum(lane::minimum(x, y), z));
     })>},
    {"v_maximum3_f16", Encoding::vop3, kAbsent, 0x230, kCalledOf<([](f16 a, f16 b, f16 c) {
       const f32 x = to_f32(a), y = to_f32(b), z = to_f32(c);
       return to_f16(lane::maximum(lane::maximum(x, y), z));
     })>},
    {"v_med3_num_f32", Encoding::vop3, kAbsent, 0x231,
     kCalledOf<([](f32 x, f32 y, f32 z) { return lane::med3_num(x, y, z); })>},
    {"v_med3_num_f16", Encoding::vop3, kAbsent, 0x232, kCalledOf<([](f16 a, f16 b, f16 c) {
       const f32 x = to_f32(a), y = to_f32(b), z = to_f32(c);
       return to_f16(lane::med3_num(x, y, z));
     })>},
    {"v_div_fmas_f32", Encoding::vop3, 0x237, 0x237, kCalledOf<lane::div_fmas>},
    {"v_xor3_b32", Encoding::vop3, 0x240, 0x240, kLanesOf<([](u32 a, u32 b, u32 c) { return a ^ b ^ c; })>},
    {"v_mad_u16", Encoding::vop3, 0x241, 0x241,
     kLanesOf<([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); })>},
    {"v_perm_b32", Encoding::vop3, 0x244, 0x244, kCalledOf<lane::perm>},
    {"v_xad_u32", Encoding::vop3, 0x245, 0x245, kLanesOf<([](u32 a, u32 b, u32 c) { return (a ^ b) + c; })>},
    {"v_lshl_add_u32", Encoding::vop3, 0x246, 0x246,
     kShiftOf<([](u32 a, u32 b, u32 c) { return (a << (b & 31u)) + c; }), 2>},
    {"v_add_lshl_u32", Encoding::vop3, 0x247, 0x247,
     kLanesOf<([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31u); })>},
    {"v_fma_f16", Encoding::vop3, 0x248, 0x248, kLanesOf<lane::fma_f16>},
    {"v_min3_f16", Encoding::vop3, 0x249, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f16 x, f16 y, f16 z) { return Rule::min(Rule::min(x, y), z); })>},
    {"v_min3_i16", Encoding::vop3, 0x24a, 0x24a,
     kLanesOf<([](i16 a, i16 b, i16 c) { return lane::smaller(lane::smaller(a, b), c); })>},
    {"v_min3_u16", Encoding::vop3, 0x24b, 0x24b,
     kLanesOf<([](u16 a, u16 b, u16 c) { return lane::smaller(lane::smaller(a, b), c); })>},
    {"v_max3_f16", Encoding::vop3, 0x24c, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f16 x, f16 y, f16 z) { return Rule::max(Rule::max(x, y), z); })>},
    {"v_max3_i16", Encoding::vop3, 0x24d, 0x24d,
     kLanesOf<([](i16 a, i16 b, i16 c) { return lane::larger(lane::larger(a, b), c); })>},
    {"v_max3_u16", Encoding::vop3, 0x24e, 0x24e,
     kLanesOf<([](u16 a, u16 b, u16 c) { return lane::larger(lane::larger(a, b), c); })>},
    {"v_med3_f16", Encoding::vop3, 0x24f, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f16 x, f16 y, f16 z) { return lane::med3_by<Rule>(x, y, z); })>},
    {"v_med3_i16", Encoding::vop3, 0x250, 0x250, kLanesOf<([](i16 a, i16 b, i16 c) { return lane::med3(a, b, c); })>},
    {"v_med3_u16", Encoding::vop3, 0x251, 0x251, kLanesOf<([](u16 a, u16 b, u16 c) { return lane::med3(a, b, c); })>},
    {"v_mad_i16", Encoding::vop3, 0x253, 0x253,
     kLanesOf<([](i16 a, i16 b, i16 c) { return static_cast<i16>(a * b + c); })>},
    {"v_add3_u32", Encoding::vop3, 0x255, 0x255, kLanesOf<([](u32 a, u32 b, u32 c) { return a + b + c; })>},
    {"v_lshl_or_b32", Encoding::vop3, 0x256, 0x256,
     kShiftOf<([](u32 a, u32 b, u32 c) { return (a << (b & 31u)) | c; }), 2>},
    {"v_and_or_b32", Encoding::vop3, 0x257, 0x257, kLanesOf<([](u32 a, u32 b, u32 c) { return (a & b) | c; })>},
    {"v_or3_b32", Encoding::vop3, 0x258, 0x258, kLanesOf<([](u32 a, u32 b, u32 c) { return a | b | c; })>},
    {"v_mad_u32_u16", Encoding::vop3, 0x259, 0x259, kLanesOf<([](u16 a, u16 b, u32 c) { return u32{a} * b + c; })>},
    {"v_mad_i32_i16", Encoding::vop3, 0x25a, 0x25a,
     kLanesOf<([](i16 a, i16 b, u32 c) { return static_cast<u32>(i32{a} * b) + c; })>},
    {"v_permlane16_b32", Encoding::vop3, 0x25b, 0x25b,
     own_function(&permlane16<false, false>, Type::u32, Type::u32, Type::u32, Type::u32)
         .with_vector_sources(1)
         .with_scalar_sources(6)
         .with_selects(3)},
    {"v_permlanex16_b32", Encoding::vop3, 0x25c, 0x25c,
     own_function(&permlane16<true, false>, Type::u32, Type::u32, Type::u32, Type::u32)
         .with_vector_sources(1)
         .with_scalar_sources(6)
         .with_selects(3)},
    {"v_cndmask_b16", Encoding::vop3, 0x25d, 0x25d, kLanesOf<([](f16 a, f16 b, bool c) { return c ? b : a; })>},
    {"v_maxmin_f32", Encoding::vop3, 0x25e, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f32 x, f32 y, f32 z) { return Rule::min(Rule::max(x, y), z); })>},
    {"v_minmax_f32", Encoding::vop3, 0x25f, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f32 x, f32 y, f32 z) { return Rule::max(Rule::min(x, y), z); })>},
    {"v_maxmin_f16", Encoding::vop3, 0x260, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f16 x, f16 y, f16 z) { return Rule::min(Rule::max(x, y), z); })>},
    {"v_minmax_f16", Encoding::vop3, 0x261, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f16 x, f16 y, f16 z) { return Rule::max(Rule::min(x, y), z); })>},
    {"v_maxmin_u32", Encoding::vop3, 0x262, 0x262,
     kLanesOf<([](u32 a, u32 b, u32 c) { return lane::smaller(lane::larger(a, b), c); })>},
    {"v_minmax_u32", Encoding::vop3, 0x263, 0x263,
     kLanesOf<([](u32 a, u32 b, u32 c) { return lane::larger(lane::smaller(a, b), c); })>},
    {"v_maxmin_i32", Encoding::vop3, 0x264, 0x264,
     kLanesOf<([](i32 a, i32 b, i32 c) { return lane::smaller(lane::larger(a, b), c); })>},
    {"v_minmax_i32", Encoding::vop3, 0x265, 0x265,
     kLanesOf<([](i32 a, i32 b, i32 c) { return lane::larger(lane::smaller(a, b), c); })>},
    {"v_minmax_num_f32", Encoding::vop3, kAbsent, 0x268,
     kCalledOf<([](f32 x, f32 y, f32 z) { return lane::max_num(lane::min_num(x, y), z); })>},
    {"v_maxmin_num_f32", Encoding::vop3, kAbsent, 0x269,
     kCalledOf<([](f32 x, f32 y, f32 z) { return lane::min_num(lane::max_num(x, y), z); })>},
    {"v_minmax_num_f16", Encoding::vop3, kAbsent, 0x26a, kCalledOf<([](f16 a, f16 b, f16 c) {
       const f32 x = to_f32(a), y = to_f32(b), z = to_f32(c);
       return to_f16(lane::max_num(lane::min_num(x, y), z));
     })>},
    {"v_maxmin_num_f16", Encoding::vop3, kAbsent, 0x26b, kCalledOf<([](f16 a, f16 b, f16 c) {
       const f32 x = to_f32(a), y = to_f32(b), z = to_f32(c);
       return to_f16(lane::min_num(lane::max_num(x, y), z));
     })>},
    {"v_minimummaximum_f32", Encoding::vop3, kAbsent, 0x26c,
     kCalledOf<([](f32 x, f32 y, f32 z) { return lane::maximum(lane::minimum(x, y), z); })>},
    {"v_maximumminimum_f32", Encoding::vop3, kAbsent, 0x26d,
     kCalledOf<([](f32 x, f32 y, f32 z) { return lane::minimum(lane::maximum(x, y), z); })>},
    {"v_minimummaximum_f16", Encoding::vop3, kAbsent, 0x26e, kCalledOf<([](f16 a, f16 b, f16 c) {
       const f32 x = to_f32(a), y = to_f32(b), z = to_f32(c);
       return to_f16(lane::maximum(lane::minimum(x, y), z));
     })>},
    {"v_maximumminimum_f16", Encoding::vop3, kAbsent, 0x26f, kCalledOf<([](f16 a, f16 b, f16 c) {
       const f32 x = to_f32(a), y = to_f32(b), z = to_f32(c);
       return to_f16(lane::minimum(lane::maximum(x, y), z));
     })>},
    {"v_s_exp_f32", Encoding::vop3, kAbsent, 0x280, of_scalars(kScalarOf<([](f32 a) { return lane::exp2(a); })>)},
    {"v_s_exp_f16", Encoding::vop3, kAbsent, 0x281,
     of_scalars(kScalarOf<([](f16 a) { return lane::half_of<lane::exp2>(a); })>)},
    {"v_s_log_f32", Encoding::vop3, kAbsent, 0x282, of_scalars(kScalarOf<([](f32 a) { return lane::log2(a); })>)},
    {"v_s_log_f16", Encoding::vop3, kAbsent, 0x283,
     of_scalars(kScalarOf<([](f16 a) { return lane::half_of<lane::log2>(a); })>)},
    {"v_s_rcp_f32", Encoding::vop3, kAbsent, 0x284, of_scalars(kScalarOf<([](f32 a) { return lane::rcp(a); })>)},
    {"v_s_rcp_f16", Encoding::vop3, kAbsent, 0x285,
     of_scalars(kScalarOf<([](f16 a) { return lane::half_of<lane::rcp>(a); })>)},
    {"v_s_rsq_f32", Encoding::vop3, kAbsent, 0x286, of_scalars(kScalarOf<([](f32 a) { return lane::rsq(a); })>)},
    {"v_s_rsq_f16", Encoding::vop3, kAbsent, 0x287,
     of_scalars(kScalarOf<([](f16 a) { return lane::half_of<lane::rsq>(a); })>)},
    {"v_s_sqrt_f32", Encoding::vop3, kAbsent, 0x288, of_scalars(kScalarOf<([](f32 a) { return lane::sqrt(a); })>)},
    {"v_s_sqrt_f16", Encoding::vop3, kAbsent, 0x289,
     of_scalars(kScalarOf<([](f16 a) { return lane::half_of<lane::sqrt>(a); })>)},
    {"v_div_scale_f32", Encoding::vop3, 0x2fc, 0x2fc, kCalledOf<lane::div_scale>.without_lane_permutation()},
    {"v_mad_u64_u32", Encoding::vop3, 0x2fe, kAbsent, kLanesOf<([](u32 a, u32 b, u64 c) {
       const u64 p = u64{a} * b;
       return WithMask<u64>{p + c, p + c < p};
     })>},
    {"v_mad_co_u64_u32", Encoding::vop3, kAbsent, 0x2fe, kLanesOf<([](u32 a, u32 b, u64 c) {
       const u64 p = u64{a} * b;
       return WithMask<u64>{p + c, p + c < p};
     })>},
    {"v_mad_i64_i32", Encoding::vop3, 0x2ff, kAbsent, kLanesOf<wide_multiply_add>},
    {"v_mad_co_i64_i32", Encoding::vop3, kAbsent, 0x2ff, kLanesOf<wide_multiply_add>},
    {"v_add_co_u32", Encoding::vop3, 0x300, 0x300,
     kLanesOf<([](u32 a, u32 b) { return WithMask<u32>{a + b, a + b < a}; })>},
    {"v_sub_co_u32", Encoding::vop3, 0x301, 0x301,
     kLanesOf<([](u32 a, u32 b) { return WithMask<u32>{a - b, b > a}; })>},
    {"v_subrev_co_u32", Encoding::vop3, 0x302, 0x302,
     kLanesOf<([](u32 b, u32 a) { return WithMask<u32>{a - b, b > a}; })>},
    {"v_add_nc_u16", Encoding::vop3, 0x303, 0x303, kLanesOf<([](u16 a, u16 b) { return static_cast<u16>(a + b); })>},
    {"v_sub_nc_u16", Encoding::vop3, 0x304, 0x304, kLanesOf<([](u16 a, u16 b) { return static_cast<u16>(a - b); })>},
    {"v_mul_lo_u16", Encoding::vop3, 0x305, 0x305,
     kLanesOf<([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); })>},
    {"v_cvt_pk_i16_f32", Encoding::vop3, 0x306, 0x306, kCalledOf<([](f32 a, f32 b) {
       return lane::joined(static_cast<u16>(lane::saturated<i16>(static_cast<f64>(a))),
                           static_cast<u16>(lane::saturated<i16>(static_cast<f64>(b))));
     })>},
    {"v_cvt_pk_u16_f32", Encoding::vop3, 0x307, 0x307, kCalledOf<([](f32 a, f32 b) {
       return lane::joined(lane::saturated<u16>(static_cast<f64>(a)), lane::saturated<u16>(static_cast<f64>(b)));
     })>},
    {"v_max_u16", Encoding::vop3, 0x309, 0x309, kLanesOf<([](u16 a, u16 b) { return lane::larger(a, b); })>},
    {"v_max_i16", Encoding::vop3, 0x30a, 0x30a, kLanesOf<([](i16 a, i16 b) { return lane::larger(a, b); })>},
    {"v_min_u16", Encoding::vop3, 0x30b, 0x30b, kLanesOf<([](u16 a, u16 b) { return lane::smaller(a, b); })>},
    {"v_min_i16", Encoding::vop3, 0x30c, 0x30c, kLanesOf<([](i16 a, i16 b) { return lane::smaller(a, b); })>},
    {"v_add_nc_i16", Encoding::vop3, 0x30d, 0x30d, kLanesOf<([](u16 a, u16 b) { return static_cast<u16>(a + b); })>},
    {"v_sub_nc_i16", Encoding::vop3, 0x30e, 0x30e, kLanesOf<([](u16 a, u16 b) { return static_cast<u16>(a - b); })>},
    {"v_permlane16_var_b32", Encoding::vop3, kAbsent, 0x30f,
     own_function(&permlane16<false, true>, Type::u32, Type::u32, Type::u32).with_vector_sources(3).with_selects(3)},
    {"v_permlanex16_var_b32", Encoding::vop3, kAbsent, 0x310,
     own_function(&permlane16<true, true>, Type::u32, Type::u32, Type::u32).with_vector_sources(3).with_selects(3)},
    {"v_pack_b32_f16", Encoding::vop3, 0x311, 0x311, kCalledOf<([](u16 a, u16 b) { return lane::joined(a, b); })>},
    {"v_ldexp_f32", Encoding::vop3, 0x31c, 0x31c, kCalledOf<([](f32 a, i32 b) { return lane::ldexp(a, b); })>},
    {"v_bfm_b32", Encoding::vop3, 0x31d, 0x31d,
     kLanesOf<([](u32 a, u32 b) { return ((u32{1} << (a & 31u)) - 1) << (b & 31u); })>},
    {"v_bcnt_u32_b32", Encoding::vop3, 0x31e, 0x31e,
     kCalledOf<([](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; })>},
    {"v_mbcnt_lo_u32_b32", Encoding::vop3, 0x31f, 0x31f, kCalledOf<([](u32 a, u32 b, LaneIndex i) {
       return static_cast<u32>(std::popcount(i.value >= 32 ? a : a & ((u32{1} << i.value) - 1))) + b;
     })>},
    {"v_mbcnt_hi_u32_b32", Encoding::vop3, 0x320, 0x320, kCalledOf<([](u32 a, u32 b, LaneIndex i) {
       return static_cast<u32>(std::popcount(i.value < 32 ? 0 : a & ((u32{1} << (i.value - 32)) - 1))) + b;
     })>},
    {"v_cvt_pk_u16_u32", Encoding::vop3, 0x323, 0x323, kCalledOf<([](u32 a, u32 b) {
       return lane::joined(lane::clamped<u16>(a, 0, 0xffff), lane::clamped<u16>(b, 0, 0xffff));
     })>},
    {"v_cvt_pk_i16_i32", Encoding::vop3, 0x324, 0x324, kCalledOf<([](i32 a, i32 b) {
       return lane::joined(lane::clamped<u16>(a, -0x8000, 0x7fff), lane::clamped<u16>(b, -0x8000, 0x7fff));
     })>},
    {"v_sub_nc_i32", Encoding::vop3, 0x325, 0x325, kLanesOf<([](u32 a, u32 b) { return a - b; })>},
    {"v_add_nc_i32", Encoding::vop3, 0x326, 0x326, kLanesOf<([](u32 a, u32 b) { return a + b; })>},
    {"v_add_f64", Encoding::vop3, 0x327, kAbsent, kLanesOf<([](f64 x, f64 y) { return x + y; })>},
    {"v_mul_f64", Encoding::vop3, 0x328, kAbsent, kLanesOf<([](f64 x, f64 y) { return x * y; })>},
    {"v_min_f64", Encoding::vop3, 0x329, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f64 x, f64 y) { return Rule::min(x, y); })>},
    {"v_max_f64", Encoding::vop3, 0x32a, kAbsent,
     kByIeeeMode<([]<class Rule>(Rule, f64 x, f64 y) { return Rule::max(x, y); })>},
    {"v_ldexp_f64", Encoding::vop3, 0x32b, 0x32b, kCalledOf<([](f64 a, i32 b) { return lane::ldexp64(a, b); })>},
    {"v_mul_lo_u32", Encoding::vop3, 0x32c, 0x32c,
     kLanesOf<([](u32 a, u32 b) { return a * b; })>.without_lane_permutation()},
    {"v_mul_hi_u32", Encoding::vop3, 0x32d, 0x32d,
     kLanesOf<([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); })>.without_lane_permutation()},
    {"v_mul_hi_i32", Encoding::vop3, 0x32e, 0x32e,
     kLanesOf<([](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); })>.without_lane_permutation()},
    {"v_lshlrev_b16", Encoding::vop3, 0x338, 0x338,
     kLanesOf<([](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); })>},
    {"v_lshrrev_b16", Encoding::vop3, 0x339, 0x339,
     kLanesOf<([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); })>},
    {"v_ashrrev_i16", Encoding::vop3, 0x33a, 0x33a,
     kLanesOf<([](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); })>},
    {"v_lshlrev_b64", Encoding::vop3, 0x33c, kAbsent, kLanesOf<([](u32 a, u64 b) { return b << (a & 63u); })>},
    {"v_lshrrev_b64", Encoding::vop3, 0x33d, 0x33d, kLanesOf<([](u32 a, u64 b) { return b >> (a & 63u); })>},
    {"v_ashrrev_i64", Encoding::vop3, 0x33e, 0x33e, kLanesOf<([](u32 a, i64 b) { return b >> (a & 63u); })>},
    {"v_minimum_f64", Encoding::vop3, kAbsent, 0x341, kCalledOf<([](f64 x, f64 y) { return lane::minimum(x, y); })>},
    {"v_maximum_f64", Encoding::vop3, kAbsent, 0x342, kCalledOf<([](f64 x, f64 y) { return lane::maximum(x, y); })>},
    {"v_readlane_b32", Encoding::vop3, 0x360, 0x360,
     to_scalar(own_function(&read_lane, Type::u32, Type::u32, Type::u32))
         .with_vector_sources(1)
         .with_scalar_sources(2)},
    {"v_writelane_b32", Encoding::vop3, 0x361, 0x361,
     own_function(&write_lane, Type::u32, Type::u32, Type::u32).with_scalar_sources(3)},
    {"v_and_b16", Encoding::vop3, 0x362, 0x362, kLanesOf<([](u16 a, u16 b) { return static_cast<u16>(a & b); })>},
    {"v_or_b16", Encoding::vop3, 0x363, 0x363, kLanesOf<([](u16 a, u16 b) { return static_cast<u16>(a | b); })>},
    {"v_xor_b16", Encoding::vop3, 0x364, 0x364, kLanesOf<([](u16 a, u16 b) { return static_cast<u16>(a ^ b); })>},
    {"v_minimum_f32", Encoding::vop3, kAbsent, 0x365, kCalledOf<([](f32 x, f32 y) { return lane::minimum(x, y); })>},
    {"v_maximum_f32", Encoding::vop3, kAbsent, 0x366, kCalledOf<([](f32 x, f32 y) { return lane::maximum(x, y); })>},
    {"v_minimum_f16", Encoding::vop3, kAbsent, 0x367,
     kCalledOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return lane::minimum(x, y); })>(a, b); })>},
    {"v_maximum_f16", Encoding::vop3, kAbsent, 0x368,
     kCalledOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return lane::maximum(x, y); })>(a, b); })>},
});

}  // namespace zrt::inline ZRT_ABI::emulator
ZRT_FP_END
