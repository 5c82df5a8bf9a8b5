// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/params_field_unnamed.cpp: the field list names every member.
// expect-error: CheckOp<ForgetfulOp>
// expect-error: zrt: padding, or a member that the field list does not name, follows this field
// expect-error: ParamFieldBeforeGap<ForgetfulOp, .*"scale"
#include "small_ops.hpp"

struct ForgetfulParams {
  float scale = 1.0f;
  float cap = 0.0f;

  static constexpr std::uint8_t version = 1;
#ifdef ZRT_COMPILE_FAIL
  static constexpr auto fields = zrt::field_list(zrt::Member{&ForgetfulParams::scale, "scale"});
#else
  static constexpr auto fields =
      zrt::field_list(zrt::Member{&ForgetfulParams::scale, "scale"}, zrt::Member{&ForgetfulParams::cap, "cap"});
#endif
};
struct ForgetfulOp : compile_fail::SmallOp<120, zrt::Rung::fused, ForgetfulParams> {};
static_assert(zrt::CheckCatalog<boost::mp11::mp_list<ForgetfulOp>>::kOk);
