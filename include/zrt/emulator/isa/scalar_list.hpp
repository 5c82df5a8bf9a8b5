// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/isa/scalar_list.hpp: scalar instructions: SOP1, SOP2, SOPC, SOPK, SOPP and SMEM.
#pragma once

#include <zrt/emulator/control.hpp>
#include <zrt/emulator/functions.hpp>

#include <array>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::emulator {

template <class T> [[nodiscard]] constexpr WithScc<T> nonzero(T value) noexcept { return {value, value != 0}; }

/// s_bfe: the offset in the low bits of `field`, the width in bits 22:16.
template <class T> [[nodiscard]] constexpr T scalar_bfe(T value, u32 field) noexcept {
  constexpr u32 kBits = sizeof(T) * 8;
  const u32 offset = field & (kBits - 1), wanted = field >> 16 & 0x7fu;
  const u32 width = wanted > kBits - offset ? kBits - offset : wanted;
  if (width == 0) return 0;
  // A shift to the top and back extends the sign of a signed T.
  const auto raised = static_cast<T>(static_cast<std::make_unsigned_t<T>>(value) << (kBits - offset - width));
  return static_cast<T>(raised >> (kBits - width));
}

/// s_cmpk: the register that the format calls its destination is the first source.
[[nodiscard]] constexpr Semantics compared_with_immediate(Semantics s) noexcept {
  s.accumulates = true;
  return s;
}

/// a * b + c, rounded once.
inline constexpr Semantics kScalarFma = kScalarOf<([](f32 a, f32 b, f32 c) { return lane::fma_f32(a, b, c); })>;

/// Scalar instructions.
inline constexpr auto kScalarInstructions = std::to_array<Instruction>({
    {"s_mov_b32", Encoding::sop1, 0x00, 0x00, kScalarOf<([](u32 a) { return a; })>},
    {"s_mov_b64", Encoding::sop1, 0x01, 0x01, kScalarOf<([](u64 a) { return a; })>},
    {"s_cmov_b32", Encoding::sop1, 0x02, 0x02,
     kScalarOf<([](u32 a, u32 old, Scc c) { return c.value ? a : old; })>.with_accumulator()},
    {"s_cmov_b64", Encoding::sop1, 0x03, 0x03,
     kScalarOf<([](u64 a, u64 old, Scc c) { return c.value ? a : old; })>.with_accumulator()},
    {"s_brev_b32", Encoding::sop1, 0x04, 0x04, kScalarOf<([](u32 a) { return lane::reversed(a); })>},
    {"s_brev_b64", Encoding::sop1, 0x05, 0x05, kScalarOf<([](u64 a) {
       return lane::reversed(static_cast<u32>(a >> 32)) | u64{lane::reversed(static_cast<u32>(a))} << 32;
     })>},
    {"s_ctz_i32_b32", Encoding::sop1, 0x08, 0x08, kScalarOf<([](u32 a) { return a == 0 ? -1 : std::countr_zero(a); })>},
    {"s_ctz_i32_b64", Encoding::sop1, 0x09, 0x09, kScalarOf<([](u64 a) { return a == 0 ? -1 : std::countr_zero(a); })>},
    {"s_clz_i32_u32", Encoding::sop1, 0x0a, 0x0a, kScalarOf<([](u32 a) { return a == 0 ? -1 : std::countl_zero(a); })>},
    {"s_clz_i32_u64", Encoding::sop1, 0x0b, 0x0b, kScalarOf<([](u64 a) { return a == 0 ? -1 : std::countl_zero(a); })>},
    {"s_cls_i32", Encoding::sop1, 0x0c, 0x0c, kScalarOf<([](i32 a) { return lane::sign_run(a); })>},
    {"s_sext_i32_i8", Encoding::sop1, 0x0e, 0x0e, kScalarOf<([](u32 a) { return i32{static_cast<i8>(a)}; })>},
    {"s_sext_i32_i16", Encoding::sop1, 0x0f, 0x0f, kScalarOf<([](u32 a) { return i32{static_cast<i16>(a)}; })>},
    {"s_bitset0_b32", Encoding::sop1, 0x10, 0x10,
     kScalarOf<([](u32 a, u32 old) { return old & ~(u32{1} << (a & 31u)); })>.with_accumulator()},
    {"s_bitset0_b64", Encoding::sop1, 0x11, 0x11,
     kScalarOf<([](u32 a, u64 old) { return old & ~(u64{1} << (a & 63u)); })>.with_accumulator()},
    {"s_bitset1_b32", Encoding::sop1, 0x12, 0x12,
     kScalarOf<([](u32 a, u32 old) { return old | u32{1} << (a & 31u); })>.with_accumulator()},
    {"s_bitset1_b64", Encoding::sop1, 0x13, 0x13,
     kScalarOf<([](u32 a, u64 old) { return old | u64{1} << (a & 63u); })>.with_accumulator()},
    {"s_abs_i32", Encoding::sop1, 0x15, 0x15,
     kScalarOf<([](u32 a) { return nonzero<u32>(a >> 31 != 0 ? 0 - a : a); })>},
    {"s_bcnt0_i32_b32", Encoding::sop1, 0x16, 0x16,
     kScalarOf<([](u32 a) { return nonzero<u32>(static_cast<u32>(32 - std::popcount(a))); })>},
    {"s_bcnt0_i32_b64", Encoding::sop1, 0x17, 0x17,
     kScalarOf<([](u64 a) { return nonzero<u32>(static_cast<u32>(64 - std::popcount(a))); })>},
    {"s_bcnt1_i32_b32", Encoding::sop1, 0x18, 0x18,
     kScalarOf<([](u32 a) { return nonzero<u32>(static_cast<u32>(std::popcount(a))); })>},
    {"s_bcnt1_i32_b64", Encoding::sop1, 0x19, 0x19,
     kScalarOf<([](u64 a) { return nonzero<u32>(static_cast<u32>(std::popcount(a))); })>},
    {"s_not_b32", Encoding::sop1, 0x1e, 0x1e, kScalarOf<([](u32 a) { return nonzero<u32>(~a); })>},
    {"s_not_b64", Encoding::sop1, 0x1f, 0x1f, kScalarOf<([](u64 a) { return nonzero<u64>(~a); })>},
    {"s_and_saveexec_b32", Encoding::sop1, 0x20, 0x20, kExecOf<u32, ([](u32 s, u32 e) { return s & e; })>},
    {"s_and_saveexec_b64", Encoding::sop1, 0x21, 0x21, kExecOf<u64, ([](u64 s, u64 e) { return s & e; })>},
    {"s_or_saveexec_b32", Encoding::sop1, 0x22, 0x22, kExecOf<u32, ([](u32 s, u32 e) { return s | e; })>},
    {"s_or_saveexec_b64", Encoding::sop1, 0x23, 0x23, kExecOf<u64, ([](u64 s, u64 e) { return s | e; })>},
    {"s_xor_saveexec_b32", Encoding::sop1, 0x24, 0x24, kExecOf<u32, ([](u32 s, u32 e) { return s ^ e; })>},
    {"s_xor_saveexec_b64", Encoding::sop1, 0x25, 0x25, kExecOf<u64, ([](u64 s, u64 e) { return s ^ e; })>},
    {"s_nand_saveexec_b32", Encoding::sop1, 0x26, 0x26, kExecOf<u32, ([](u32 s, u32 e) { return ~(s & e); })>},
    {"s_nand_saveexec_b64", Encoding::sop1, 0x27, 0x27, kExecOf<u64, ([](u64 s, u64 e) { return ~(s & e); })>},
    {"s_nor_saveexec_b32", Encoding::sop1, 0x28, 0x28, kExecOf<u32, ([](u32 s, u32 e) { return ~(s | e); })>},
    {"s_nor_saveexec_b64", Encoding::sop1, 0x29, 0x29, kExecOf<u64, ([](u64 s, u64 e) { return ~(s | e); })>},
    {"s_xnor_saveexec_b32", Encoding::sop1, 0x2a, 0x2a, kExecOf<u32, ([](u32 s, u32 e) { return ~(s ^ e); })>},
    {"s_xnor_saveexec_b64", Encoding::sop1, 0x2b, 0x2b, kExecOf<u64, ([](u64 s, u64 e) { return ~(s ^ e); })>},
    {"s_and_not0_saveexec_b32", Encoding::sop1, 0x2c, 0x2c, kExecOf<u32, ([](u32 s, u32 e) { return ~s & e; })>},
    {"s_and_not0_saveexec_b64", Encoding::sop1, 0x2d, 0x2d, kExecOf<u64, ([](u64 s, u64 e) { return ~s & e; })>},
    {"s_or_not0_saveexec_b32", Encoding::sop1, 0x2e, 0x2e, kExecOf<u32, ([](u32 s, u32 e) { return ~s | e; })>},
    {"s_or_not0_saveexec_b64", Encoding::sop1, 0x2f, 0x2f, kExecOf<u64, ([](u64 s, u64 e) { return ~s | e; })>},
    {"s_and_not1_saveexec_b32", Encoding::sop1, 0x30, 0x30, kExecOf<u32, ([](u32 s, u32 e) { return s & ~e; })>},
    {"s_and_not1_saveexec_b64", Encoding::sop1, 0x31, 0x31, kExecOf<u64, ([](u64 s, u64 e) { return s & ~e; })>},
    {"s_or_not1_saveexec_b32", Encoding::sop1, 0x32, 0x32, kExecOf<u32, ([](u32 s, u32 e) { return s | ~e; })>},
    {"s_or_not1_saveexec_b64", Encoding::sop1, 0x33, 0x33, kExecOf<u64, ([](u64 s, u64 e) { return s | ~e; })>},
    {"s_and_not0_wrexec_b32", Encoding::sop1, 0x34, 0x34, kExecOf<u32, ([](u32 s, u32 e) { return ~s & e; }), false>},
    {"s_and_not0_wrexec_b64", Encoding::sop1, 0x35, 0x35, kExecOf<u64, ([](u64 s, u64 e) { return ~s & e; }), false>},
    {"s_and_not1_wrexec_b32", Encoding::sop1, 0x36, 0x36, kExecOf<u32, ([](u32 s, u32 e) { return s & ~e; }), false>},
    {"s_and_not1_wrexec_b64", Encoding::sop1, 0x37, 0x37, kExecOf<u64, ([](u64 s, u64 e) { return s & ~e; }), false>},
    {"s_getpc_b64", Encoding::sop1, 0x47, 0x47, own_function(&get_pc, Type::u64)},
    {"s_setpc_b64", Encoding::sop1, 0x48, 0x48, own_function(&set_pc, Type::none, Type::u64)},
    {"s_swappc_b64", Encoding::sop1, 0x49, 0x49, own_function(&swap_pc, Type::u64, Type::u64)},
    {"s_barrier_signal", Encoding::sop1, kAbsent, 0x4e, own_function(&barrier_signal<false>, Type::none, Type::u32)},
    {"s_barrier_signal_isfirst", Encoding::sop1, kAbsent, 0x4f,
     own_function(&barrier_signal<true>, Type::none, Type::u32)},
    {"s_ceil_f32", Encoding::sop1, kAbsent, 0x60, kScalarOf<([](f32 a) { return lane::whole<lane::ceiled>(a); })>},
    {"s_floor_f32", Encoding::sop1, kAbsent, 0x61, kScalarOf<([](f32 a) { return lane::whole<lane::floored>(a); })>},
    {"s_trunc_f32", Encoding::sop1, kAbsent, 0x62, kScalarOf<([](f32 a) { return lane::whole<lane::truncated>(a); })>},
    {"s_rndne_f32", Encoding::sop1, kAbsent, 0x63,
     kScalarOf<([](f32 a) { return lane::whole<lane::rounded_even>(a); })>},
    {"s_cvt_f32_i32", Encoding::sop1, kAbsent, 0x64, kScalarOf<([](i32 a) { return static_cast<f32>(a); })>},
    {"s_cvt_f32_u32", Encoding::sop1, kAbsent, 0x65, kScalarOf<([](u32 a) { return static_cast<f32>(a); })>},
    {"s_cvt_i32_f32", Encoding::sop1, kAbsent, 0x66,
     kScalarOf<([](f32 a) { return lane::saturated<i32>(static_cast<f64>(a)); })>},
    {"s_cvt_u32_f32", Encoding::sop1, kAbsent, 0x67,
     kScalarOf<([](f32 a) { return lane::saturated<u32>(static_cast<f64>(a)); })>},
    {"s_cvt_f16_f32", Encoding::sop1, kAbsent, 0x68, kScalarOf<([](f32 a) { return to_f16(a); })>},
    {"s_cvt_f32_f16", Encoding::sop1, kAbsent, 0x69, kScalarOf<([](f16 a) { return to_f32(a); })>},
    {"s_cvt_hi_f32_f16", Encoding::sop1, kAbsent, 0x6a,
     kScalarOf<([](u32 a) { return to_f32(f16{static_cast<u16>(a >> 16)}); })>},
    {"s_ceil_f16", Encoding::sop1, kAbsent, 0x6b,
     kScalarOf<([](f16 a) { return lane::half_of<lane::whole<lane::ceiled>>(a); })>},
    {"s_floor_f16", Encoding::sop1, kAbsent, 0x6c,
     kScalarOf<([](f16 a) { return lane::half_of<lane::whole<lane::floored>>(a); })>},
    {"s_trunc_f16", Encoding::sop1, kAbsent, 0x6d,
     kScalarOf<([](f16 a) { return lane::half_of<lane::whole<lane::truncated>>(a); })>},
    {"s_rndne_f16", Encoding::sop1, kAbsent, 0x6e,
     kScalarOf<([](f16 a) { return lane::half_of<lane::whole<lane::rounded_even>>(a); })>},
    {"s_add_u32", Encoding::sop2, 0x00, kAbsent,
     kScalarOf<([](u32 a, u32 b) { return WithScc<u32>{a + b, a + b < a}; })>},
    {"s_add_co_u32", Encoding::sop2, kAbsent, 0x00,
     kScalarOf<([](u32 a, u32 b) { return WithScc<u32>{a + b, a + b < a}; })>},
    {"s_sub_u32", Encoding::sop2, 0x01, kAbsent, kScalarOf<([](u32 a, u32 b) { return WithScc<u32>{a - b, b > a}; })>},
    {"s_sub_co_u32", Encoding::sop2, kAbsent, 0x01,
     kScalarOf<([](u32 a, u32 b) { return WithScc<u32>{a - b, b > a}; })>},
    {"s_add_i32", Encoding::sop2, 0x02, kAbsent,
     kScalarOf<([](u32 a, u32 b) { return WithScc<u32>{a + b, (~(a ^ b) & (a ^ (a + b))) >> 31 != 0}; })>},
    {"s_add_co_i32", Encoding::sop2, kAbsent, 0x02,
     kScalarOf<([](u32 a, u32 b) { return WithScc<u32>{a + b, (~(a ^ b) & (a ^ (a + b))) >> 31 != 0}; })>},
    {"s_sub_i32", Encoding::sop2, 0x03, kAbsent,
     kScalarOf<([](u32 a, u32 b) { return WithScc<u32>{a - b, ((a ^ b) & (a ^ (a - b))) >> 31 != 0}; })>},
    {"s_sub_co_i32", Encoding::sop2, kAbsent, 0x03,
     kScalarOf<([](u32 a, u32 b) { return WithScc<u32>{a - b, ((a ^ b) & (a ^ (a - b))) >> 31 != 0}; })>},
    {"s_addc_u32", Encoding::sop2, 0x04, kAbsent, kScalarOf<([](u32 a, u32 b, Scc c) {
       const u64 sum = u64{a} + b + (c.value ? 1u : 0u);
       return WithScc<u32>{static_cast<u32>(sum), sum >> 32 != 0};
     })>},
    {"s_add_co_ci_u32", Encoding::sop2, kAbsent, 0x04, kScalarOf<([](u32 a, u32 b, Scc c) {
       const u64 sum = u64{a} + b + (c.value ? 1u : 0u);
       return WithScc<u32>{static_cast<u32>(sum), sum >> 32 != 0};
     })>},
    {"s_subb_u32", Encoding::sop2, 0x05, kAbsent, kScalarOf<([](u32 a, u32 b, Scc c) {
       const u64 take = u64{b} + (c.value ? 1u : 0u);
       return WithScc<u32>{static_cast<u32>(a - take), take > a};
     })>},
    {"s_sub_co_ci_u32", Encoding::sop2, kAbsent, 0x05, kScalarOf<([](u32 a, u32 b, Scc c) {
       const u64 take = u64{b} + (c.value ? 1u : 0u);
       return WithScc<u32>{static_cast<u32>(a - take), take > a};
     })>},
    {"s_absdiff_i32", Encoding::sop2, 0x06, 0x06, kScalarOf<([](i32 a, i32 b) {
       const auto r = static_cast<u32>(a > b ? i64{a} - b : i64{b} - a);
       return WithScc<u32>{r, r != 0};
     })>},
    {"s_lshl_b32", Encoding::sop2, 0x08, 0x08, kScalarOf<([](u32 a, u32 b) { return nonzero<u32>(a << (b & 31u)); })>},
    {"s_lshl_b64", Encoding::sop2, 0x09, 0x09, kScalarOf<([](u64 a, u32 b) { return nonzero<u64>(a << (b & 63u)); })>},
    {"s_lshr_b32", Encoding::sop2, 0x0a, 0x0a, kScalarOf<([](u32 a, u32 b) { return nonzero<u32>(a >> (b & 31u)); })>},
    {"s_lshr_b64", Encoding::sop2, 0x0b, 0x0b, kScalarOf<([](u64 a, u32 b) { return nonzero<u64>(a >> (b & 63u)); })>},
    {"s_ashr_i32", Encoding::sop2, 0x0c, 0x0c, kScalarOf<([](i32 a, u32 b) { return nonzero<i32>(a >> (b & 31u)); })>},
    {"s_ashr_i64", Encoding::sop2, 0x0d, 0x0d, kScalarOf<([](i64 a, u32 b) { return nonzero<i64>(a >> (b & 63u)); })>},
    {"s_lshl1_add_u32", Encoding::sop2, 0x0e, 0x0e, kScalarOf<([](u32 a, u32 b) {
       const u64 sum = (u64{a} << 1) + b;
       return WithScc<u32>{static_cast<u32>(sum), sum >> 32 != 0};
     })>},
    {"s_lshl2_add_u32", Encoding::sop2, 0x0f, 0x0f, kScalarOf<([](u32 a, u32 b) {
       const u64 sum = (u64{a} << 2) + b;
       return WithScc<u32>{static_cast<u32>(sum), sum >> 32 != 0};
     })>},
    {"s_lshl3_add_u32", Encoding::sop2, 0x10, 0x10, kScalarOf<([](u32 a, u32 b) {
       const u64 sum = (u64{a} << 3) + b;
       return WithScc<u32>{static_cast<u32>(sum), sum >> 32 != 0};
     })>},
    {"s_lshl4_add_u32", Encoding::sop2, 0x11, 0x11, kScalarOf<([](u32 a, u32 b) {
       const u64 sum = (u64{a} << 4) + b;
       return WithScc<u32>{static_cast<u32>(sum), sum >> 32 != 0};
     })>},
    {"s_min_i32", Encoding::sop2, 0x12, 0x12,
     kScalarOf<([](i32 a, i32 b) { return WithScc<i32>{a < b ? a : b, a < b}; })>},
    {"s_min_u32", Encoding::sop2, 0x13, 0x13,
     kScalarOf<([](u32 a, u32 b) { return WithScc<u32>{a < b ? a : b, a < b}; })>},
    {"s_max_i32", Encoding::sop2, 0x14, 0x14,
     kScalarOf<([](i32 a, i32 b) { return WithScc<i32>{a < b ? b : a, a >= b}; })>},
    {"s_max_u32", Encoding::sop2, 0x15, 0x15,
     kScalarOf<([](u32 a, u32 b) { return WithScc<u32>{a < b ? b : a, a >= b}; })>},
    {"s_and_b32", Encoding::sop2, 0x16, 0x16, kScalarOf<([](u32 a, u32 b) { return nonzero<u32>(a & b); })>},
    {"s_and_b64", Encoding::sop2, 0x17, 0x17, kScalarOf<([](u64 a, u64 b) { return nonzero<u64>(a & b); })>},
    {"s_or_b32", Encoding::sop2, 0x18, 0x18, kScalarOf<([](u32 a, u32 b) { return nonzero<u32>(a | b); })>},
    {"s_or_b64", Encoding::sop2, 0x19, 0x19, kScalarOf<([](u64 a, u64 b) { return nonzero<u64>(a | b); })>},
    {"s_xor_b32", Encoding::sop2, 0x1a, 0x1a, kScalarOf<([](u32 a, u32 b) { return nonzero<u32>(a ^ b); })>},
    {"s_xor_b64", Encoding::sop2, 0x1b, 0x1b, kScalarOf<([](u64 a, u64 b) { return nonzero<u64>(a ^ b); })>},
    {"s_nand_b32", Encoding::sop2, 0x1c, 0x1c, kScalarOf<([](u32 a, u32 b) { return nonzero<u32>(~(a & b)); })>},
    {"s_nand_b64", Encoding::sop2, 0x1d, 0x1d, kScalarOf<([](u64 a, u64 b) { return nonzero<u64>(~(a & b)); })>},
    {"s_nor_b32", Encoding::sop2, 0x1e, 0x1e, kScalarOf<([](u32 a, u32 b) { return nonzero<u32>(~(a | b)); })>},
    {"s_nor_b64", Encoding::sop2, 0x1f, 0x1f, kScalarOf<([](u64 a, u64 b) { return nonzero<u64>(~(a | b)); })>},
    {"s_xnor_b32", Encoding::sop2, 0x20, 0x20, kScalarOf<([](u32 a, u32 b) { return nonzero<u32>(~(a ^ b)); })>},
    {"s_xnor_b64", Encoding::sop2, 0x21, 0x21, kScalarOf<([](u64 a, u64 b) { return nonzero<u64>(~(a ^ b)); })>},
    {"s_and_not1_b32", Encoding::sop2, 0x22, 0x22, kScalarOf<([](u32 a, u32 b) { return nonzero<u32>(a & ~b); })>},
    {"s_and_not1_b64", Encoding::sop2, 0x23, 0x23, kScalarOf<([](u64 a, u64 b) { return nonzero<u64>(a & ~b); })>},
    {"s_or_not1_b32", Encoding::sop2, 0x24, 0x24, kScalarOf<([](u32 a, u32 b) { return nonzero<u32>(a | ~b); })>},
    {"s_or_not1_b64", Encoding::sop2, 0x25, 0x25, kScalarOf<([](u64 a, u64 b) { return nonzero<u64>(a | ~b); })>},
    {"s_bfe_u32", Encoding::sop2, 0x26, 0x26, kScalarOf<([](u32 a, u32 b) { return nonzero<u32>(scalar_bfe(a, b)); })>},
    {"s_bfe_i32", Encoding::sop2, 0x27, 0x27, kScalarOf<([](i32 a, u32 b) { return nonzero<i32>(scalar_bfe(a, b)); })>},
    {"s_bfe_u64", Encoding::sop2, 0x28, 0x28, kScalarOf<([](u64 a, u32 b) { return nonzero<u64>(scalar_bfe(a, b)); })>},
    {"s_bfe_i64", Encoding::sop2, 0x29, 0x29, kScalarOf<([](i64 a, u32 b) { return nonzero<i64>(scalar_bfe(a, b)); })>},
    {"s_bfm_b32", Encoding::sop2, 0x2a, 0x2a,
     kScalarOf<([](u32 a, u32 b) { return ((u32{1} << (a & 31u)) - 1) << (b & 31u); })>},
    {"s_bfm_b64", Encoding::sop2, 0x2b, 0x2b,
     kScalarOf<([](u32 a, u32 b) { return ((u64{1} << (a & 63u)) - 1) << (b & 63u); })>},
    {"s_mul_i32", Encoding::sop2, 0x2c, 0x2c, kScalarOf<([](u32 a, u32 b) { return a * b; })>},
    {"s_mul_hi_u32", Encoding::sop2, 0x2d, 0x2d,
     kScalarOf<([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); })>},
    {"s_mul_hi_i32", Encoding::sop2, 0x2e, 0x2e,
     kScalarOf<([](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); })>},
    {"s_cselect_b32", Encoding::sop2, 0x30, 0x30, kScalarOf<([](u32 a, u32 b, Scc c) { return c.value ? a : b; })>},
    {"s_cselect_b64", Encoding::sop2, 0x31, 0x31, kScalarOf<([](u64 a, u64 b, Scc c) { return c.value ? a : b; })>},
    {"s_pack_ll_b32_b16", Encoding::sop2, 0x32, 0x32,
     kScalarOf<([](u32 a, u32 b) { return (a & 0xffffu) | b << 16; })>},
    {"s_pack_lh_b32_b16", Encoding::sop2, 0x33, 0x33,
     kScalarOf<([](u32 a, u32 b) { return (a & 0xffffu) | (b & 0xffff0000u); })>},
    {"s_pack_hh_b32_b16", Encoding::sop2, 0x34, 0x34,
     kScalarOf<([](u32 a, u32 b) { return a >> 16 | (b & 0xffff0000u); })>},
    {"s_pack_hl_b32_b16", Encoding::sop2, 0x35, 0x35, kScalarOf<([](u32 a, u32 b) { return a >> 16 | b << 16; })>},
    {"s_add_f32", Encoding::sop2, kAbsent, 0x40, kScalarOf<([](f32 a, f32 b) { return a + b; })>},
    {"s_sub_f32", Encoding::sop2, kAbsent, 0x41, kScalarOf<([](f32 a, f32 b) { return a - b; })>},
    {"s_min_num_f32", Encoding::sop2, kAbsent, 0x42, kScalarOf<([](f32 a, f32 b) { return lane::min_num(a, b); })>},
    {"s_max_num_f32", Encoding::sop2, kAbsent, 0x43, kScalarOf<([](f32 a, f32 b) { return lane::max_num(a, b); })>},
    {"s_mul_f32", Encoding::sop2, kAbsent, 0x44, kScalarOf<([](f32 a, f32 b) { return a * b; })>},
    {"s_fmaak_f32", Encoding::sop2, kAbsent, 0x45, kScalarFma.with_literal(2)},
    {"s_fmamk_f32", Encoding::sop2, kAbsent, 0x46, kScalarFma.with_literal(1)},
    {"s_fmac_f32", Encoding::sop2, kAbsent, 0x47, kScalarFma.with_accumulator()},
    {"s_cvt_pk_rtz_f16_f32", Encoding::sop2, kAbsent, 0x48,
     kScalarOf<([](f32 a, f32 b) { return lane::joined(lane::half_toward_zero(a), lane::half_toward_zero(b)); })>},
    {"s_add_f16", Encoding::sop2, kAbsent, 0x49,
     kScalarOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return x + y; })>(a, b); })>},
    {"s_sub_f16", Encoding::sop2, kAbsent, 0x4a,
     kScalarOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return x - y; })>(a, b); })>},
    {"s_min_num_f16", Encoding::sop2, kAbsent, 0x4b,
     kScalarOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return lane::min_num(x, y); })>(a, b); })>},
    {"s_max_num_f16", Encoding::sop2, kAbsent, 0x4c,
     kScalarOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return lane::max_num(x, y); })>(a, b); })>},
    {"s_mul_f16", Encoding::sop2, kAbsent, 0x4d,
     kScalarOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return x * y; })>(a, b); })>},
    {"s_fmac_f16", Encoding::sop2, kAbsent, 0x4e,
     kScalarOf<([](f16 a, f16 b, f16 c) { return lane::fma_f16(a, b, c); })>.with_accumulator()},
    {"s_minimum_f32", Encoding::sop2, kAbsent, 0x4f, kScalarOf<([](f32 a, f32 b) { return lane::minimum(a, b); })>},
    {"s_maximum_f32", Encoding::sop2, kAbsent, 0x50, kScalarOf<([](f32 a, f32 b) { return lane::maximum(a, b); })>},
    {"s_minimum_f16", Encoding::sop2, kAbsent, 0x51,
     kScalarOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return lane::minimum(x, y); })>(a, b); })>},
    {"s_maximum_f16", Encoding::sop2, kAbsent, 0x52,
     kScalarOf<([](f16 a, f16 b) { return lane::half_of<([](f32 x, f32 y) { return lane::maximum(x, y); })>(a, b); })>},
    {"s_add_nc_u64", Encoding::sop2, kAbsent, 0x53, kScalarOf<([](u64 a, u64 b) { return a + b; })>},
    {"s_sub_nc_u64", Encoding::sop2, kAbsent, 0x54, kScalarOf<([](u64 a, u64 b) { return a - b; })>},
    {"s_mul_u64", Encoding::sop2, kAbsent, 0x55, kScalarOf<([](u64 a, u64 b) { return a * b; })>},
    {"s_cmp_eq_i32", Encoding::sopc, 0x00, 0x00, kScalarOf<([](i32 a, i32 b) { return a == b; })>},
    {"s_cmp_lg_i32", Encoding::sopc, 0x01, 0x01, kScalarOf<([](i32 a, i32 b) { return a != b; })>},
    {"s_cmp_gt_i32", Encoding::sopc, 0x02, 0x02, kScalarOf<([](i32 a, i32 b) { return a > b; })>},
    {"s_cmp_ge_i32", Encoding::sopc, 0x03, 0x03, kScalarOf<([](i32 a, i32 b) { return a >= b; })>},
    {"s_cmp_lt_i32", Encoding::sopc, 0x04, 0x04, kScalarOf<([](i32 a, i32 b) { return a < b; })>},
    {"s_cmp_le_i32", Encoding::sopc, 0x05, 0x05, kScalarOf<([](i32 a, i32 b) { return a <= b; })>},
    {"s_cmp_eq_u32", Encoding::sopc, 0x06, 0x06, kScalarOf<([](u32 a, u32 b) { return a == b; })>},
    {"s_cmp_lg_u32", Encoding::sopc, 0x07, 0x07, kScalarOf<([](u32 a, u32 b) { return a != b; })>},
    {"s_cmp_gt_u32", Encoding::sopc, 0x08, 0x08, kScalarOf<([](u32 a, u32 b) { return a > b; })>},
    {"s_cmp_ge_u32", Encoding::sopc, 0x09, 0x09, kScalarOf<([](u32 a, u32 b) { return a >= b; })>},
    {"s_cmp_lt_u32", Encoding::sopc, 0x0a, 0x0a, kScalarOf<([](u32 a, u32 b) { return a < b; })>},
    {"s_cmp_le_u32", Encoding::sopc, 0x0b, 0x0b, kScalarOf<([](u32 a, u32 b) { return a <= b; })>},
    {"s_bitcmp0_b32", Encoding::sopc, 0x0c, 0x0c, kScalarOf<([](u32 a, u32 b) { return (a >> (b & 31u) & 1u) == 0; })>},
    {"s_bitcmp1_b32", Encoding::sopc, 0x0d, 0x0d, kScalarOf<([](u32 a, u32 b) { return (a >> (b & 31u) & 1u) != 0; })>},
    {"s_bitcmp0_b64", Encoding::sopc, 0x0e, 0x0e, kScalarOf<([](u64 a, u32 b) { return (a >> (b & 63u) & 1u) == 0; })>},
    {"s_bitcmp1_b64", Encoding::sopc, 0x0f, 0x0f, kScalarOf<([](u64 a, u32 b) { return (a >> (b & 63u) & 1u) != 0; })>},
    {"s_cmp_eq_u64", Encoding::sopc, 0x10, 0x10, kScalarOf<([](u64 a, u64 b) { return a == b; })>},
    {"s_cmp_lg_u64", Encoding::sopc, 0x11, 0x11, kScalarOf<([](u64 a, u64 b) { return a != b; })>},
    {"s_cmp_lt_f32", Encoding::sopc, kAbsent, 0x41, kScalarOf<([](f32 a, f32 b) { return a < b; })>},
    {"s_cmp_eq_f32", Encoding::sopc, kAbsent, 0x42, kScalarOf<([](f32 a, f32 b) { return a == b; })>},
    {"s_cmp_le_f32", Encoding::sopc, kAbsent, 0x43, kScalarOf<([](f32 a, f32 b) { return a <= b; })>},
    {"s_cmp_gt_f32", Encoding::sopc, kAbsent, 0x44, kScalarOf<([](f32 a, f32 b) { return a > b; })>},
    {"s_cmp_lg_f32", Encoding::sopc, kAbsent, 0x45, kScalarOf<([](f32 a, f32 b) { return a < b || a > b; })>},
    {"s_cmp_ge_f32", Encoding::sopc, kAbsent, 0x46, kScalarOf<([](f32 a, f32 b) { return a >= b; })>},
    {"s_cmp_o_f32", Encoding::sopc, kAbsent, 0x47, kScalarOf<([](f32 a, f32 b) { return a == a && b == b; })>},
    {"s_cmp_u_f32", Encoding::sopc, kAbsent, 0x48, kScalarOf<([](f32 a, f32 b) { return a != a || b != b; })>},
    {"s_cmp_nge_f32", Encoding::sopc, kAbsent, 0x49, kScalarOf<([](f32 a, f32 b) { return !(a >= b); })>},
    {"s_cmp_nlg_f32", Encoding::sopc, kAbsent, 0x4a, kScalarOf<([](f32 a, f32 b) { return !(a < b || a > b); })>},
    {"s_cmp_ngt_f32", Encoding::sopc, kAbsent, 0x4b, kScalarOf<([](f32 a, f32 b) { return !(a > b); })>},
    {"s_cmp_nle_f32", Encoding::sopc, kAbsent, 0x4c, kScalarOf<([](f32 a, f32 b) { return !(a <= b); })>},
    {"s_cmp_neq_f32", Encoding::sopc, kAbsent, 0x4d, kScalarOf<([](f32 a, f32 b) { return !(a == b); })>},
    {"s_cmp_nlt_f32", Encoding::sopc, kAbsent, 0x4e, kScalarOf<([](f32 a, f32 b) { return !(a < b); })>},
    {"s_cmp_lt_f16", Encoding::sopc, kAbsent, 0x51, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return a < b;
     })>},
    {"s_cmp_eq_f16", Encoding::sopc, kAbsent, 0x52, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return a == b;
     })>},
    {"s_cmp_le_f16", Encoding::sopc, kAbsent, 0x53, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return a <= b;
     })>},
    {"s_cmp_gt_f16", Encoding::sopc, kAbsent, 0x54, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return a > b;
     })>},
    {"s_cmp_lg_f16", Encoding::sopc, kAbsent, 0x55, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return a < b || a > b;
     })>},
    {"s_cmp_ge_f16", Encoding::sopc, kAbsent, 0x56, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return a >= b;
     })>},
    {"s_cmp_o_f16", Encoding::sopc, kAbsent, 0x57, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return a == a && b == b;
     })>},
    {"s_cmp_u_f16", Encoding::sopc, kAbsent, 0x58, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return a != a || b != b;
     })>},
    {"s_cmp_nge_f16", Encoding::sopc, kAbsent, 0x59, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return !(a >= b);
     })>},
    {"s_cmp_nlg_f16", Encoding::sopc, kAbsent, 0x5a, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return !(a < b || a > b);
     })>},
    {"s_cmp_ngt_f16", Encoding::sopc, kAbsent, 0x5b, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return !(a > b);
     })>},
    {"s_cmp_nle_f16", Encoding::sopc, kAbsent, 0x5c, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return !(a <= b);
     })>},
    {"s_cmp_neq_f16", Encoding::sopc, kAbsent, 0x5d, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return !(a == b);
     })>},
    {"s_cmp_nlt_f16", Encoding::sopc, kAbsent, 0x5e, kScalarOf<([](f16 x, f16 y) {
       const f32 a = to_f32(x), b = to_f32(y);
       return !(a < b);
     })>},
    {"s_movk_i32", Encoding::sopk, 0x00, 0x00, kScalarOf<([](u32 a) { return a; })>},
    {"s_version", Encoding::sopk, 0x01, 0x01, own_function(&no_operation)},
    {"s_cmovk_i32", Encoding::sopk, 0x02, 0x02,
     kScalarOf<([](u32 a, u32 old, Scc c) { return c.value ? a : old; })>.with_accumulator()},
    {"s_cmpk_eq_i32", Encoding::sopk, 0x03, kAbsent,
     compared_with_immediate(kScalarOf<([](i32 a, i32 b) { return a == b; })>)},
    {"s_cmpk_lg_i32", Encoding::sopk, 0x04, kAbsent,
     compared_with_immediate(kScalarOf<([](i32 a, i32 b) { return a != b; })>)},
    {"s_cmpk_gt_i32", Encoding::sopk, 0x05, kAbsent,
     compared_with_immediate(kScalarOf<([](i32 a, i32 b) { return a > b; })>)},
    {"s_cmpk_ge_i32", Encoding::sopk, 0x06, kAbsent,
     compared_with_immediate(kScalarOf<([](i32 a, i32 b) { return a >= b; })>)},
    {"s_cmpk_lt_i32", Encoding::sopk, 0x07, kAbsent,
     compared_with_immediate(kScalarOf<([](i32 a, i32 b) { return a < b; })>)},
    {"s_cmpk_le_i32", Encoding::sopk, 0x08, kAbsent,
     compared_with_immediate(kScalarOf<([](i32 a, i32 b) { return a <= b; })>)},
    {"s_cmpk_eq_u32", Encoding::sopk, 0x09, kAbsent,
     compared_with_immediate(kScalarOf<([](u32 a, u32 b) { return a == (b & 0xffffu); })>)},
    {"s_cmpk_lg_u32", Encoding::sopk, 0x0a, kAbsent,
     compared_with_immediate(kScalarOf<([](u32 a, u32 b) { return a != (b & 0xffffu); })>)},
    {"s_cmpk_gt_u32", Encoding::sopk, 0x0b, kAbsent,
     compared_with_immediate(kScalarOf<([](u32 a, u32 b) { return a > (b & 0xffffu); })>)},
    {"s_cmpk_ge_u32", Encoding::sopk, 0x0c, kAbsent,
     compared_with_immediate(kScalarOf<([](u32 a, u32 b) { return a >= (b & 0xffffu); })>)},
    {"s_cmpk_lt_u32", Encoding::sopk, 0x0d, kAbsent,
     compared_with_immediate(kScalarOf<([](u32 a, u32 b) { return a < (b & 0xffffu); })>)},
    {"s_cmpk_le_u32", Encoding::sopk, 0x0e, kAbsent,
     compared_with_immediate(kScalarOf<([](u32 a, u32 b) { return a <= (b & 0xffffu); })>)},
    {"s_addk_i32", Encoding::sopk, 0x0f, kAbsent, kScalarOf<([](u32 a, u32 b) {
                                                    return WithScc<u32>{a + b, (~(a ^ b) & (a ^ (a + b))) >> 31 != 0};
                                                  })>.with_accumulator()},
    {"s_addk_co_i32", Encoding::sopk, kAbsent, 0x0f, kScalarOf<([](u32 a, u32 b) {
                                                       return WithScc<u32>{a + b,
                                                                           (~(a ^ b) & (a ^ (a + b))) >> 31 != 0};
                                                     })>.with_accumulator()},
    {"s_mulk_i32", Encoding::sopk, 0x10, 0x10, kScalarOf<([](u32 a, u32 b) { return a * b; })>.with_accumulator()},
    {"s_getreg_b32", Encoding::sopk, 0x11, 0x11, own_function(&get_register, Type::u32)},
    {"s_setreg_b32", Encoding::sopk, 0x12, 0x12, own_function(&set_register, Type::none, Type::u32)},
    {"s_call_b64", Encoding::sopk, 0x14, 0x14, own_function(&call, Type::u64)},
    {"s_waitcnt_vscnt", Encoding::sopk, 0x18, kAbsent,
     own_function(&wait_for<WaitCounter::store>, Type::u32).with_null_destination()},
    {"s_waitcnt_vmcnt", Encoding::sopk, 0x19, kAbsent,
     own_function(&wait_for<WaitCounter::load>, Type::u32).with_null_destination()},
    {"s_waitcnt_expcnt", Encoding::sopk, 0x1a, kAbsent, own_function(&no_operation, Type::u32).with_null_destination()},
    {"s_waitcnt_lgkmcnt", Encoding::sopk, 0x1b, kAbsent,
     own_function(&wait_for<WaitCounter::ds>, Type::u32).with_null_destination()},
    {"s_nop", Encoding::sopp, 0x00, 0x00, own_function(&no_operation)},
    {"s_sleep", Encoding::sopp, 0x03, 0x03, own_function(&no_operation)},
    {"s_set_inst_prefetch_distance", Encoding::sopp, 0x04, kAbsent, own_function(&no_operation)},
    {"s_clause", Encoding::sopp, 0x05, 0x05, own_function(&no_operation)},
    {"s_delay_alu", Encoding::sopp, 0x07, 0x07, own_function(&no_operation).with_immediate(0x7ff)},
    {"s_waitcnt_depctr", Encoding::sopp, 0x08, kAbsent, own_function(&no_operation)},
    {"s_wait_alu", Encoding::sopp, kAbsent, 0x08, own_function(&no_operation)},
    {"s_waitcnt", Encoding::sopp, 0x09, 0x09, own_function(&wait_counts).with_immediate(0xfff7)},
    {"s_wait_idle", Encoding::sopp, 0x0a, 0x0a, own_function(&wait_idle).with_immediate(0)},
    {"s_wait_event", Encoding::sopp, 0x0b, 0x0b, own_function(&no_operation)},
    {"s_trap", Encoding::sopp, 0x10, 0x10, own_function(&trap)},
    {"s_round_mode", Encoding::sopp, 0x11, 0x11, own_function(&round_mode)},
    {"s_denorm_mode", Encoding::sopp, 0x12, 0x12, own_function(&denorm_mode)},
    {"s_singleuse_vdst", Encoding::sopp, kAbsent, 0x13, own_function(&no_operation)},
    {"s_barrier_wait", Encoding::sopp, kAbsent, 0x14, own_function(&barrier_wait)},
    {"s_code_end", Encoding::sopp, 0x1f, 0x1f, own_function(&not_executable).with_immediate(0)},
    {"s_branch", Encoding::sopp, 0x20, 0x20, own_function(&branch<([](const Wave&) { return true; })>)},
    {"s_cbranch_scc0", Encoding::sopp, 0x21, 0x21, own_function(&branch<([](const Wave& w) { return !w.scc; })>)},
    {"s_cbranch_scc1", Encoding::sopp, 0x22, 0x22, own_function(&branch<([](const Wave& w) { return w.scc; })>)},
    {"s_cbranch_vccz", Encoding::sopp, 0x23, 0x23,
     own_function(&branch<([](const Wave& w) { return w.vcc_all() == 0; })>).with_vcc()},
    {"s_cbranch_vccnz", Encoding::sopp, 0x24, 0x24,
     own_function(&branch<([](const Wave& w) { return w.vcc_all() != 0; })>).with_vcc()},
    {"s_cbranch_execz", Encoding::sopp, 0x25, 0x25,
     own_function(&branch<([](const Wave& w) { return w.exec_all() == 0; })>)},
    {"s_cbranch_execnz", Encoding::sopp, 0x26, 0x26,
     own_function(&branch<([](const Wave& w) { return w.exec_all() != 0; })>)},
    {"s_endpgm", Encoding::sopp, 0x30, 0x30, own_function(&end_program)},
    {"s_endpgm_saved", Encoding::sopp, 0x31, 0x31, own_function(&end_program).with_immediate(0)},
    {"s_wakeup", Encoding::sopp, 0x34, 0x34, own_function(&no_operation).with_immediate(0)},
    {"s_setprio", Encoding::sopp, 0x35, 0x35, own_function(&no_operation)},
    {"s_sendmsg", Encoding::sopp, 0x36, 0x36, own_function(&no_operation)},
    {"s_incperflevel", Encoding::sopp, 0x38, 0x38, own_function(&no_operation)},
    {"s_decperflevel", Encoding::sopp, 0x39, 0x39, own_function(&no_operation)},
    {"s_ttracedata", Encoding::sopp, 0x3a, 0x3a, own_function(&no_operation).with_immediate(0)},
    {"s_ttracedata_imm", Encoding::sopp, 0x3b, 0x3b, own_function(&no_operation)},
    {"s_icache_inv", Encoding::sopp, 0x3c, 0x3c, own_function(&no_operation).with_immediate(0)},
    {"s_barrier", Encoding::sopp, 0x3d, kAbsent, own_function(&barrier).with_immediate(0)},
    {"s_wait_loadcnt", Encoding::sopp, kAbsent, 0x40, own_function(&wait_for<WaitCounter::load>)},
    {"s_wait_storecnt", Encoding::sopp, kAbsent, 0x41, own_function(&wait_for<WaitCounter::store>)},
    {"s_wait_samplecnt", Encoding::sopp, kAbsent, 0x42, own_function(&no_operation)},
    {"s_wait_bvhcnt", Encoding::sopp, kAbsent, 0x43, own_function(&no_operation)},
    {"s_wait_expcnt", Encoding::sopp, kAbsent, 0x44, own_function(&no_operation)},
    {"s_wait_dscnt", Encoding::sopp, kAbsent, 0x46, own_function(&wait_for<WaitCounter::ds>)},
    {"s_wait_kmcnt", Encoding::sopp, kAbsent, 0x47, own_function(&wait_for<WaitCounter::scalar>)},
    {"s_wait_loadcnt_dscnt", Encoding::sopp, kAbsent, 0x48, own_function(&wait_for_both<WaitCounter::load>)},
    {"s_wait_storecnt_dscnt", Encoding::sopp, kAbsent, 0x49, own_function(&wait_for_both<WaitCounter::store>)},
    {"s_load_b32", Encoding::smem, 0x00, 0x00, scalar_load_of(4)},
    {"s_load_b64", Encoding::smem, 0x01, 0x01, scalar_load_of(8)},
    {"s_load_b128", Encoding::smem, 0x02, 0x02, scalar_load_of(16)},
    {"s_load_b256", Encoding::smem, 0x03, 0x03, scalar_load_of(32)},
    {"s_load_b512", Encoding::smem, 0x04, 0x04, scalar_load_of(64)},
    {"s_load_b96", Encoding::smem, kAbsent, 0x05, scalar_load_of(12)},
    {"s_load_i8", Encoding::smem, kAbsent, 0x08, scalar_load_of(1, ElementAccess::Extend::sign)},
    {"s_load_u8", Encoding::smem, kAbsent, 0x09, scalar_load_of(1, ElementAccess::Extend::zero)},
    {"s_load_i16", Encoding::smem, kAbsent, 0x0a, scalar_load_of(2, ElementAccess::Extend::sign)},
    {"s_load_u16", Encoding::smem, kAbsent, 0x0b, scalar_load_of(2, ElementAccess::Extend::zero)},
    {"s_gl1_inv", Encoding::smem, 0x20, kAbsent, own_function(&no_operation)},
    {"s_dcache_inv", Encoding::smem, 0x21, 0x21, own_function(&no_operation)},
});

}  // namespace zrt::inline ZRT_ABI::emulator
ZRT_FP_END
