// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/isa/compare_list.hpp: vector comparisons: VOPC.
#pragma once

#include <zrt/emulator/functions.hpp>
#include <zrt/emulator/lanes.hpp>

#include <array>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::emulator {

/// The predicates of the comparisons; those that begin with n are true where one is NaN.
namespace compare {

/// f16 compares as f32.
template <class T> [[nodiscard]] constexpr auto widened(T x) noexcept {
  if constexpr (std::is_same_v<T, f16>)
    return to_f32(x);
  else
    return x;
}
template <class T> [[nodiscard]] constexpr bool never(T, T) noexcept { return false; }
template <class T> [[nodiscard]] constexpr bool always(T, T) noexcept { return true; }
template <class T> [[nodiscard]] constexpr bool lt(T a, T b) noexcept { return widened(a) < widened(b); }
template <class T> [[nodiscard]] constexpr bool le(T a, T b) noexcept { return widened(a) <= widened(b); }
template <class T> [[nodiscard]] constexpr bool gt(T a, T b) noexcept { return widened(a) > widened(b); }
template <class T> [[nodiscard]] constexpr bool ge(T a, T b) noexcept { return widened(a) >= widened(b); }
template <class T> [[nodiscard]] constexpr bool eq(T a, T b) noexcept { return widened(a) == widened(b); }
template <class T> [[nodiscard]] constexpr bool ne(T a, T b) noexcept { return !eq(a, b); }
template <class T> [[nodiscard]] constexpr bool lg(T a, T b) noexcept { return lt(a, b) || gt(a, b); }
template <class T> [[nodiscard]] constexpr bool ordered(T a, T b) noexcept { return eq(a, a) && eq(b, b); }
template <class T> [[nodiscard]] constexpr bool unordered(T a, T b) noexcept { return !ordered(a, b); }
template <class T> [[nodiscard]] constexpr bool nlt(T a, T b) noexcept { return !lt(a, b); }
template <class T> [[nodiscard]] constexpr bool nle(T a, T b) noexcept { return !le(a, b); }
template <class T> [[nodiscard]] constexpr bool ngt(T a, T b) noexcept { return !gt(a, b); }
template <class T> [[nodiscard]] constexpr bool nge(T a, T b) noexcept { return !ge(a, b); }
template <class T> [[nodiscard]] constexpr bool neq(T a, T b) noexcept { return !eq(a, b); }
template <class T> [[nodiscard]] constexpr bool nlg(T a, T b) noexcept { return !lg(a, b); }

}  // namespace compare

/// v_cmpx: the result goes to exec.
[[nodiscard]] constexpr Semantics writing_exec(Semantics s) noexcept {
  s.writes_exec = true;
  return s;
}

/// VOPC. The opcodes in VOP3 are the same.
inline constexpr auto kCompareInstructions = std::to_array<Instruction>({
    {"v_cmp_f_f16", Encoding::vopc, 0x00, kAbsent, kLanesOf<compare::never<f16>>},
    {"v_cmp_lt_f16", Encoding::vopc, 0x01, 0x01, kLanesOf<compare::lt<f16>>},
    {"v_cmp_eq_f16", Encoding::vopc, 0x02, 0x02, kLanesOf<compare::eq<f16>>},
    {"v_cmp_le_f16", Encoding::vopc, 0x03, 0x03, kLanesOf<compare::le<f16>>},
    {"v_cmp_gt_f16", Encoding::vopc, 0x04, 0x04, kLanesOf<compare::gt<f16>>},
    {"v_cmp_lg_f16", Encoding::vopc, 0x05, 0x05, kLanesOf<compare::lg<f16>>},
    {"v_cmp_ge_f16", Encoding::vopc, 0x06, 0x06, kLanesOf<compare::ge<f16>>},
    {"v_cmp_o_f16", Encoding::vopc, 0x07, 0x07, kLanesOf<compare::ordered<f16>>},
    {"v_cmp_u_f16", Encoding::vopc, 0x08, 0x08, kLanesOf<compare::unordered<f16>>},
    {"v_cmp_nge_f16", Encoding::vopc, 0x09, 0x09, kLanesOf<compare::nge<f16>>},
    {"v_cmp_nlg_f16", Encoding::vopc, 0x0a, 0x0a, kLanesOf<compare::nlg<f16>>},
    {"v_cmp_ngt_f16", Encoding::vopc, 0x0b, 0x0b, kLanesOf<compare::ngt<f16>>},
    {"v_cmp_nle_f16", Encoding::vopc, 0x0c, 0x0c, kLanesOf<compare::nle<f16>>},
    {"v_cmp_neq_f16", Encoding::vopc, 0x0d, 0x0d, kLanesOf<compare::neq<f16>>},
    {"v_cmp_nlt_f16", Encoding::vopc, 0x0e, 0x0e, kLanesOf<compare::nlt<f16>>},
    {"v_cmp_t_f16", Encoding::vopc, 0x0f, kAbsent, kLanesOf<compare::always<f16>>},
    {"v_cmp_f_f32", Encoding::vopc, 0x10, kAbsent, kLanesOf<compare::never<f32>>},
    {"v_cmp_lt_f32", Encoding::vopc, 0x11, 0x11, kLanesOf<compare::lt<f32>>},
    {"v_cmp_eq_f32", Encoding::vopc, 0x12, 0x12, kLanesOf<compare::eq<f32>>},
    {"v_cmp_le_f32", Encoding::vopc, 0x13, 0x13, kLanesOf<compare::le<f32>>},
    {"v_cmp_gt_f32", Encoding::vopc, 0x14, 0x14, kLanesOf<compare::gt<f32>>},
    {"v_cmp_lg_f32", Encoding::vopc, 0x15, 0x15, kLanesOf<compare::lg<f32>>},
    {"v_cmp_ge_f32", Encoding::vopc, 0x16, 0x16, kLanesOf<compare::ge<f32>>},
    {"v_cmp_o_f32", Encoding::vopc, 0x17, 0x17, kLanesOf<compare::ordered<f32>>},
    {"v_cmp_u_f32", Encoding::vopc, 0x18, 0x18, kLanesOf<compare::unordered<f32>>},
    {"v_cmp_nge_f32", Encoding::vopc, 0x19, 0x19, kLanesOf<compare::nge<f32>>},
    {"v_cmp_nlg_f32", Encoding::vopc, 0x1a, 0x1a, kLanesOf<compare::nlg<f32>>},
    {"v_cmp_ngt_f32", Encoding::vopc, 0x1b, 0x1b, kLanesOf<compare::ngt<f32>>},
    {"v_cmp_nle_f32", Encoding::vopc, 0x1c, 0x1c, kLanesOf<compare::nle<f32>>},
    {"v_cmp_neq_f32", Encoding::vopc, 0x1d, 0x1d, kLanesOf<compare::neq<f32>>},
    {"v_cmp_nlt_f32", Encoding::vopc, 0x1e, 0x1e, kLanesOf<compare::nlt<f32>>},
    {"v_cmp_t_f32", Encoding::vopc, 0x1f, kAbsent, kLanesOf<compare::always<f32>>},
    {"v_cmp_f_f64", Encoding::vopc, 0x20, kAbsent, kLanesOf<compare::never<f64>>},
    {"v_cmp_lt_f64", Encoding::vopc, 0x21, 0x21, kLanesOf<compare::lt<f64>>},
    {"v_cmp_eq_f64", Encoding::vopc, 0x22, 0x22, kLanesOf<compare::eq<f64>>},
    {"v_cmp_le_f64", Encoding::vopc, 0x23, 0x23, kLanesOf<compare::le<f64>>},
    {"v_cmp_gt_f64", Encoding::vopc, 0x24, 0x24, kLanesOf<compare::gt<f64>>},
    {"v_cmp_lg_f64", Encoding::vopc, 0x25, 0x25, kLanesOf<compare::lg<f64>>},
    {"v_cmp_ge_f64", Encoding::vopc, 0x26, 0x26, kLanesOf<compare::ge<f64>>},
    {"v_cmp_o_f64", Encoding::vopc, 0x27, 0x27, kLanesOf<compare::ordered<f64>>},
    {"v_cmp_u_f64", Encoding::vopc, 0x28, 0x28, kLanesOf<compare::unordered<f64>>},
    {"v_cmp_nge_f64", Encoding::vopc, 0x29, 0x29, kLanesOf<compare::nge<f64>>},
    {"v_cmp_nlg_f64", Encoding::vopc, 0x2a, 0x2a, kLanesOf<compare::nlg<f64>>},
    {"v_cmp_ngt_f64", Encoding::vopc, 0x2b, 0x2b, kLanesOf<compare::ngt<f64>>},
    {"v_cmp_nle_f64", Encoding::vopc, 0x2c, 0x2c, kLanesOf<compare::nle<f64>>},
    {"v_cmp_neq_f64", Encoding::vopc, 0x2d, 0x2d, kLanesOf<compare::neq<f64>>},
    {"v_cmp_nlt_f64", Encoding::vopc, 0x2e, 0x2e, kLanesOf<compare::nlt<f64>>},
    {"v_cmp_t_f64", Encoding::vopc, 0x2f, kAbsent, kLanesOf<compare::always<f64>>},
    {"v_cmp_lt_i16", Encoding::vopc, 0x31, 0x31, kLanesOf<compare::lt<i16>>},
    {"v_cmp_eq_i16", Encoding::vopc, 0x32, 0x32, kLanesOf<compare::eq<i16>>},
    {"v_cmp_le_i16", Encoding::vopc, 0x33, 0x33, kLanesOf<compare::le<i16>>},
    {"v_cmp_gt_i16", Encoding::vopc, 0x34, 0x34, kLanesOf<compare::gt<i16>>},
    {"v_cmp_ne_i16", Encoding::vopc, 0x35, 0x35, kLanesOf<compare::ne<i16>>},
    {"v_cmp_ge_i16", Encoding::vopc, 0x36, 0x36, kLanesOf<compare::ge<i16>>},
    {"v_cmp_lt_u16", Encoding::vopc, 0x39, 0x39, kLanesOf<compare::lt<u16>>},
    {"v_cmp_eq_u16", Encoding::vopc, 0x3a, 0x3a, kLanesOf<compare::eq<u16>>},
    {"v_cmp_le_u16", Encoding::vopc, 0x3b, 0x3b, kLanesOf<compare::le<u16>>},
    {"v_cmp_gt_u16", Encoding::vopc, 0x3c, 0x3c, kLanesOf<compare::gt<u16>>},
    {"v_cmp_ne_u16", Encoding::vopc, 0x3d, 0x3d, kLanesOf<compare::ne<u16>>},
    {"v_cmp_ge_u16", Encoding::vopc, 0x3e, 0x3e, kLanesOf<compare::ge<u16>>},
    {"v_cmp_f_i32", Encoding::vopc, 0x40, kAbsent, kLanesOf<compare::never<i32>>},
    {"v_cmp_lt_i32", Encoding::vopc, 0x41, 0x41, kLanesOf<compare::lt<i32>>},
    {"v_cmp_eq_i32", Encoding::vopc, 0x42, 0x42, kLanesOf<compare::eq<i32>>},
    {"v_cmp_le_i32", Encoding::vopc, 0x43, 0x43, kLanesOf<compare::le<i32>>},
    {"v_cmp_gt_i32", Encoding::vopc, 0x44, 0x44, kLanesOf<compare::gt<i32>>},
    {"v_cmp_ne_i32", Encoding::vopc, 0x45, 0x45, kLanesOf<compare::ne<i32>>},
    {"v_cmp_ge_i32", Encoding::vopc, 0x46, 0x46, kLanesOf<compare::ge<i32>>},
    {"v_cmp_t_i32", Encoding::vopc, 0x47, kAbsent, kLanesOf<compare::always<i32>>},
    {"v_cmp_f_u32", Encoding::vopc, 0x48, kAbsent, kLanesOf<compare::never<u32>>},
    {"v_cmp_lt_u32", Encoding::vopc, 0x49, 0x49, kLanesOf<compare::lt<u32>>},
    {"v_cmp_eq_u32", Encoding::vopc, 0x4a, 0x4a, kLanesOf<compare::eq<u32>>},
    {"v_cmp_le_u32", Encoding::vopc, 0x4b, 0x4b, kLanesOf<compare::le<u32>>},
    {"v_cmp_gt_u32", Encoding::vopc, 0x4c, 0x4c, kLanesOf<compare::gt<u32>>},
    {"v_cmp_ne_u32", Encoding::vopc, 0x4d, 0x4d, kLanesOf<compare::ne<u32>>},
    {"v_cmp_ge_u32", Encoding::vopc, 0x4e, 0x4e, kLanesOf<compare::ge<u32>>},
    {"v_cmp_t_u32", Encoding::vopc, 0x4f, kAbsent, kLanesOf<compare::always<u32>>},
    {"v_cmp_f_i64", Encoding::vopc, 0x50, kAbsent, kLanesOf<compare::never<i64>>},
    {"v_cmp_lt_i64", Encoding::vopc, 0x51, 0x51, kLanesOf<compare::lt<i64>>},
    {"v_cmp_eq_i64", Encoding::vopc, 0x52, 0x52, kLanesOf<compare::eq<i64>>},
    {"v_cmp_le_i64", Encoding::vopc, 0x53, 0x53, kLanesOf<compare::le<i64>>},
    {"v_cmp_gt_i64", Encoding::vopc, 0x54, 0x54, kLanesOf<compare::gt<i64>>},
    {"v_cmp_ne_i64", Encoding::vopc, 0x55, 0x55, kLanesOf<compare::ne<i64>>},
    {"v_cmp_ge_i64", Encoding::vopc, 0x56, 0x56, kLanesOf<compare::ge<i64>>},
    {"v_cmp_t_i64", Encoding::vopc, 0x57, kAbsent, kLanesOf<compare::always<i64>>},
    {"v_cmp_f_u64", Encoding::vopc, 0x58, kAbsent, kLanesOf<compare::never<u64>>},
    {"v_cmp_lt_u64", Encoding::vopc, 0x59, 0x59, kLanesOf<compare::lt<u64>>},
    {"v_cmp_eq_u64", Encoding::vopc, 0x5a, 0x5a, kLanesOf<compare::eq<u64>>},
    {"v_cmp_le_u64", Encoding::vopc, 0x5b, 0x5b, kLanesOf<compare::le<u64>>},
    {"v_cmp_gt_u64", Encoding::vopc, 0x5c, 0x5c, kLanesOf<compare::gt<u64>>},
    {"v_cmp_ne_u64", Encoding::vopc, 0x5d, 0x5d, kLanesOf<compare::ne<u64>>},
    {"v_cmp_ge_u64", Encoding::vopc, 0x5e, 0x5e, kLanesOf<compare::ge<u64>>},
    {"v_cmp_t_u64", Encoding::vopc, 0x5f, kAbsent, kLanesOf<compare::always<u64>>},
    {"v_cmp_class_f16", Encoding::vopc, 0x7d, 0x7d, kLanesOf<lane::half_in_class>},
    {"v_cmp_class_f32", Encoding::vopc, 0x7e, 0x7e, kCalledOf<lane::in_class<f32>>},
    {"v_cmp_class_f64", Encoding::vopc, 0x7f, 0x7f, kCalledOf<lane::in_class<f64>>},
    {"v_cmpx_f_f16", Encoding::vopc, 0x80, kAbsent, writing_exec(kLanesOf<compare::never<f16>>)},
    {"v_cmpx_lt_f16", Encoding::vopc, 0x81, 0x81, writing_exec(kLanesOf<compare::lt<f16>>)},
    {"v_cmpx_eq_f16", Encoding::vopc, 0x82, 0x82, writing_exec(kLanesOf<compare::eq<f16>>)},
    {"v_cmpx_le_f16", Encoding::vopc, 0x83, 0x83, writing_exec(kLanesOf<compare::le<f16>>)},
    {"v_cmpx_gt_f16", Encoding::vopc, 0x84, 0x84, writing_exec(kLanesOf<compare::gt<f16>>)},
    {"v_cmpx_lg_f16", Encoding::vopc, 0x85, 0x85, writing_exec(kLanesOf<compare::lg<f16>>)},
    {"v_cmpx_ge_f16", Encoding::vopc, 0x86, 0x86, writing_exec(kLanesOf<compare::ge<f16>>)},
    {"v_cmpx_o_f16", Encoding::vopc, 0x87, 0x87, writing_exec(kLanesOf<compare::ordered<f16>>)},
    {"v_cmpx_u_f16", Encoding::vopc, 0x88, 0x88, writing_exec(kLanesOf<compare::unordered<f16>>)},
    {"v_cmpx_nge_f16", Encoding::vopc, 0x89, 0x89, writing_exec(kLanesOf<compare::nge<f16>>)},
    {"v_cmpx_nlg_f16", Encoding::vopc, 0x8a, 0x8a, writing_exec(kLanesOf<compare::nlg<f16>>)},
    {"v_cmpx_ngt_f16", Encoding::vopc, 0x8b, 0x8b, writing_exec(kLanesOf<compare::ngt<f16>>)},
    {"v_cmpx_nle_f16", Encoding::vopc, 0x8c, 0x8c, writing_exec(kLanesOf<compare::nle<f16>>)},
    {"v_cmpx_neq_f16", Encoding::vopc, 0x8d, 0x8d, writing_exec(kLanesOf<compare::neq<f16>>)},
    {"v_cmpx_nlt_f16", Encoding::vopc, 0x8e, 0x8e, writing_exec(kLanesOf<compare::nlt<f16>>)},
    {"v_cmpx_t_f16", Encoding::vopc, 0x8f, kAbsent, writing_exec(kLanesOf<compare::always<f16>>)},
    {"v_cmpx_f_f32", Encoding::vopc, 0x90, kAbsent, writing_exec(kLanesOf<compare::never<f32>>)},
    {"v_cmpx_lt_f32", Encoding::vopc, 0x91, 0x91, writing_exec(kLanesOf<compare::lt<f32>>)},
    {"v_cmpx_eq_f32", Encoding::vopc, 0x92, 0x92, writing_exec(kLanesOf<compare::eq<f32>>)},
    {"v_cmpx_le_f32", Encoding::vopc, 0x93, 0x93, writing_exec(kLanesOf<compare::le<f32>>)},
    {"v_cmpx_gt_f32", Encoding::vopc, 0x94, 0x94, writing_exec(kLanesOf<compare::gt<f32>>)},
    {"v_cmpx_lg_f32", Encoding::vopc, 0x95, 0x95, writing_exec(kLanesOf<compare::lg<f32>>)},
    {"v_cmpx_ge_f32", Encoding::vopc, 0x96, 0x96, writing_exec(kLanesOf<compare::ge<f32>>)},
    {"v_cmpx_o_f32", Encoding::vopc, 0x97, 0x97, writing_exec(kLanesOf<compare::ordered<f32>>)},
    {"v_cmpx_u_f32", Encoding::vopc, 0x98, 0x98, writing_exec(kLanesOf<compare::unordered<f32>>)},
    {"v_cmpx_nge_f32", Encoding::vopc, 0x99, 0x99, writing_exec(kLanesOf<compare::nge<f32>>)},
    {"v_cmpx_nlg_f32", Encoding::vopc, 0x9a, 0x9a, writing_exec(kLanesOf<compare::nlg<f32>>)},
    {"v_cmpx_ngt_f32", Encoding::vopc, 0x9b, 0x9b, writing_exec(kLanesOf<compare::ngt<f32>>)},
    {"v_cmpx_nle_f32", Encoding::vopc, 0x9c, 0x9c, writing_exec(kLanesOf<compare::nle<f32>>)},
    {"v_cmpx_neq_f32", Encoding::vopc, 0x9d, 0x9d, writing_exec(kLanesOf<compare::neq<f32>>)},
    {"v_cmpx_nlt_f32", Encoding::vopc, 0x9e, 0x9e, writing_exec(kLanesOf<compare::nlt<f32>>)},
    {"v_cmpx_t_f32", Encoding::vopc, 0x9f, kAbsent, writing_exec(kLanesOf<compare::always<f32>>)},
    {"v_cmpx_f_f64", Encoding::vopc, 0xa0, kAbsent, writing_exec(kLanesOf<compare::never<f64>>)},
    {"v_cmpx_lt_f64", Encoding::vopc, 0xa1, 0xa1, writing_exec(kLanesOf<compare::lt<f64>>)},
    {"v_cmpx_eq_f64", Encoding::vopc, 0xa2, 0xa2, writing_exec(kLanesOf<compare::eq<f64>>)},
    {"v_cmpx_le_f64", Encoding::vopc, 0xa3, 0xa3, writing_exec(kLanesOf<compare::le<f64>>)},
    {"v_cmpx_gt_f64", Encoding::vopc, 0xa4, 0xa4, writing_exec(kLanesOf<compare::gt<f64>>)},
    {"v_cmpx_lg_f64", Encoding::vopc, 0xa5, 0xa5, writing_exec(kLanesOf<compare::lg<f64>>)},
    {"v_cmpx_ge_f64", Encoding::vopc, 0xa6, 0xa6, writing_exec(kLanesOf<compare::ge<f64>>)},
    {"v_cmpx_o_f64", Encoding::vopc, 0xa7, 0xa7, writing_exec(kLanesOf<compare::ordered<f64>>)},
    {"v_cmpx_u_f64", Encoding::vopc, 0xa8, 0xa8, writing_exec(kLanesOf<compare::unordered<f64>>)},
    {"v_cmpx_nge_f64", Encoding::vopc, 0xa9, 0xa9, writing_exec(kLanesOf<compare::nge<f64>>)},
    {"v_cmpx_nlg_f64", Encoding::vopc, 0xaa, 0xaa, writing_exec(kLanesOf<compare::nlg<f64>>)},
    {"v_cmpx_ngt_f64", Encoding::vopc, 0xab, 0xab, writing_exec(kLanesOf<compare::ngt<f64>>)},
    {"v_cmpx_nle_f64", Encoding::vopc, 0xac, 0xac, writing_exec(kLanesOf<compare::nle<f64>>)},
    {"v_cmpx_neq_f64", Encoding::vopc, 0xad, 0xad, writing_exec(kLanesOf<compare::neq<f64>>)},
    {"v_cmpx_nlt_f64", Encoding::vopc, 0xae, 0xae, writing_exec(kLanesOf<compare::nlt<f64>>)},
    {"v_cmpx_t_f64", Encoding::vopc, 0xaf, kAbsent, writing_exec(kLanesOf<compare::always<f64>>)},
    {"v_cmpx_lt_i16", Encoding::vopc, 0xb1, 0xb1, writing_exec(kLanesOf<compare::lt<i16>>)},
    {"v_cmpx_eq_i16", Encoding::vopc, 0xb2, 0xb2, writing_exec(kLanesOf<compare::eq<i16>>)},
    {"v_cmpx_le_i16", Encoding::vopc, 0xb3, 0xb3, writing_exec(kLanesOf<compare::le<i16>>)},
    {"v_cmpx_gt_i16", Encoding::vopc, 0xb4, 0xb4, writing_exec(kLanesOf<compare::gt<i16>>)},
    {"v_cmpx_ne_i16", Encoding::vopc, 0xb5, 0xb5, writing_exec(kLanesOf<compare::ne<i16>>)},
    {"v_cmpx_ge_i16", Encoding::vopc, 0xb6, 0xb6, writing_exec(kLanesOf<compare::ge<i16>>)},
    {"v_cmpx_lt_u16", Encoding::vopc, 0xb9, 0xb9, writing_exec(kLanesOf<compare::lt<u16>>)},
    {"v_cmpx_eq_u16", Encoding::vopc, 0xba, 0xba, writing_exec(kLanesOf<compare::eq<u16>>)},
    {"v_cmpx_le_u16", Encoding::vopc, 0xbb, 0xbb, writing_exec(kLanesOf<compare::le<u16>>)},
    {"v_cmpx_gt_u16", Encoding::vopc, 0xbc, 0xbc, writing_exec(kLanesOf<compare::gt<u16>>)},
    {"v_cmpx_ne_u16", Encoding::vopc, 0xbd, 0xbd, writing_exec(kLanesOf<compare::ne<u16>>)},
    {"v_cmpx_ge_u16", Encoding::vopc, 0xbe, 0xbe, writing_exec(kLanesOf<compare::ge<u16>>)},
    {"v_cmpx_f_i32", Encoding::vopc, 0xc0, kAbsent, writing_exec(kLanesOf<compare::never<i32>>)},
    {"v_cmpx_lt_i32", Encoding::vopc, 0xc1, 0xc1, writing_exec(kLanesOf<compare::lt<i32>>)},
    {"v_cmpx_eq_i32", Encoding::vopc, 0xc2, 0xc2, writing_exec(kLanesOf<compare::eq<i32>>)},
    {"v_cmpx_le_i32", Encoding::vopc, 0xc3, 0xc3, writing_exec(kLanesOf<compare::le<i32>>)},
    {"v_cmpx_gt_i32", Encoding::vopc, 0xc4, 0xc4, writing_exec(kLanesOf<compare::gt<i32>>)},
    {"v_cmpx_ne_i32", Encoding::vopc, 0xc5, 0xc5, writing_exec(kLanesOf<compare::ne<i32>>)},
    {"v_cmpx_ge_i32", Encoding::vopc, 0xc6, 0xc6, writing_exec(kLanesOf<compare::ge<i32>>)},
    {"v_cmpx_t_i32", Encoding::vopc, 0xc7, kAbsent, writing_exec(kLanesOf<compare::always<i32>>)},
    {"v_cmpx_f_u32", Encoding::vopc, 0xc8, kAbsent, writing_exec(kLanesOf<compare::never<u32>>)},
    {"v_cmpx_lt_u32", Encoding::vopc, 0xc9, 0xc9, writing_exec(kLanesOf<compare::lt<u32>>)},
    {"v_cmpx_eq_u32", Encoding::vopc, 0xca, 0xca, writing_exec(kLanesOf<compare::eq<u32>>)},
    {"v_cmpx_le_u32", Encoding::vopc, 0xcb, 0xcb, writing_exec(kLanesOf<compare::le<u32>>)},
    {"v_cmpx_gt_u32", Encoding::vopc, 0xcc, 0xcc, writing_exec(kLanesOf<compare::gt<u32>>)},
    {"v_cmpx_ne_u32", Encoding::vopc, 0xcd, 0xcd, writing_exec(kLanesOf<compare::ne<u32>>)},
    {"v_cmpx_ge_u32", Encoding::vopc, 0xce, 0xce, writing_exec(kLanesOf<compare::ge<u32>>)},
    {"v_cmpx_t_u32", Encoding::vopc, 0xcf, kAbsent, writing_exec(kLanesOf<compare::always<u32>>)},
    {"v_cmpx_f_i64", Encoding::vopc, 0xd0, kAbsent, writing_exec(kLanesOf<compare::never<i64>>)},
    {"v_cmpx_lt_i64", Encoding::vopc, 0xd1, 0xd1, writing_exec(kLanesOf<compare::lt<i64>>)},
    {"v_cmpx_eq_i64", Encoding::vopc, 0xd2, 0xd2, writing_exec(kLanesOf<compare::eq<i64>>)},
    {"v_cmpx_le_i64", Encoding::vopc, 0xd3, 0xd3, writing_exec(kLanesOf<compare::le<i64>>)},
    {"v_cmpx_gt_i64", Encoding::vopc, 0xd4, 0xd4, writing_exec(kLanesOf<compare::gt<i64>>)},
    {"v_cmpx_ne_i64", Encoding::vopc, 0xd5, 0xd5, writing_exec(kLanesOf<compare::ne<i64>>)},
    {"v_cmpx_ge_i64", Encoding::vopc, 0xd6, 0xd6, writing_exec(kLanesOf<compare::ge<i64>>)},
    {"v_cmpx_t_i64", Encoding::vopc, 0xd7, kAbsent, writing_exec(kLanesOf<compare::always<i64>>)},
    {"v_cmpx_f_u64", Encoding::vopc, 0xd8, kAbsent, writing_exec(kLanesOf<compare::never<u64>>)},
    {"v_cmpx_lt_u64", Encoding::vopc, 0xd9, 0xd9, writing_exec(kLanesOf<compare::lt<u64>>)},
    {"v_cmpx_eq_u64", Encoding::vopc, 0xda, 0xda, writing_exec(kLanesOf<compare::eq<u64>>)},
    {"v_cmpx_le_u64", Encoding::vopc, 0xdb, 0xdb, writing_exec(kLanesOf<compare::le<u64>>)},
    {"v_cmpx_gt_u64", Encoding::vopc, 0xdc, 0xdc, writing_exec(kLanesOf<compare::gt<u64>>)},
    {"v_cmpx_ne_u64", Encoding::vopc, 0xdd, 0xdd, writing_exec(kLanesOf<compare::ne<u64>>)},
    {"v_cmpx_ge_u64", Encoding::vopc, 0xde, 0xde, writing_exec(kLanesOf<compare::ge<u64>>)},
    {"v_cmpx_t_u64", Encoding::vopc, 0xdf, kAbsent, writing_exec(kLanesOf<compare::always<u64>>)},
    {"v_cmpx_class_f16", Encoding::vopc, 0xfd, 0xfd, writing_exec(kCalledOf<lane::half_in_class>)},
    {"v_cmpx_class_f32", Encoding::vopc, 0xfe, 0xfe, writing_exec(kCalledOf<lane::in_class<f32>>)},
    {"v_cmpx_class_f64", Encoding::vopc, 0xff, 0xff, writing_exec(kCalledOf<lane::in_class<f64>>)},
});

}  // namespace zrt::inline ZRT_ABI::emulator
ZRT_FP_END
