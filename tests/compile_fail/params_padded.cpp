// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/params_padded.cpp: a parameter struct has no padding.
// expect-error: CheckOp<PaddedOp>
// expect-error: zrt: padding, or a member that the field list does not name, follows this field
// expect-error: ParamFieldBeforeGap<PaddedOp, .*"kind"
#include "small_ops.hpp"

struct PaddedParams {
  std::uint8_t kind = 0;
#ifndef ZRT_COMPILE_FAIL
  std::array<std::uint8_t, 3> reserved{};
#endif
  float scale = 1.0f;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = zrt::field_list(zrt::Member{&PaddedParams::kind, "kind"},
#ifndef ZRT_COMPILE_FAIL
                                                 zrt::Member{&PaddedParams::reserved, "reserved"},
#endif
                                                 zrt::Member{&PaddedParams::scale, "scale"});
};
struct PaddedOp : compile_fail::SmallOp<120, zrt::Rung::fused, PaddedParams> {};
static_assert(zrt::CheckCatalog<boost::mp11::mp_list<PaddedOp>>::kOk);
