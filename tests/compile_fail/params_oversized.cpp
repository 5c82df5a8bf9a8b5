// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/params_oversized.cpp: a parameter struct has at most 256 bytes.
// expect-error: CheckOp<HugeOp>
// expect-error: zrt: this field ends beyond the 256 bytes of a parameter block
// expect-error: ParamFieldBeyondLimit<HugeOp, .*"table"
#include "small_ops.hpp"

struct HugeParams {
#ifdef ZRT_COMPILE_FAIL
  std::array<std::uint32_t, 65> table{};
#else
  std::array<std::uint32_t, 64> table{};
#endif
  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = zrt::field_list(zrt::Member{&HugeParams::table, "table"});
};
struct HugeOp : compile_fail::SmallOp<120, zrt::Rung::fused, HugeParams> {};
static_assert(zrt::CheckCatalog<boost::mp11::mp_list<HugeOp>>::kOk);
