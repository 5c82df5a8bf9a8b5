// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/op_not_an_op.cpp: an op says what it computes.
// expect-error: zrt: this type does not satisfy zrt::Op; see docs/adding-an-op.md
// expect-error: CheckOp<SilentOp>
// expect-error: HasMeaning
#include "small_ops.hpp"

#ifdef ZRT_COMPILE_FAIL
struct SilentOp : compile_fail::SmallOp<120> {
  static constexpr int reference = 0;
};
#else
struct SilentOp : compile_fail::SmallOp<120> {};
#endif
static_assert(zrt::CheckCatalog<boost::mp11::mp_list<SilentOp>>::kOk);
