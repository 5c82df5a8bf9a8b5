// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/op_gradient_unsaid.cpp: a primitive says its gradient, or that it has none.
// expect-error: zrt: this primitive says nothing of its gradient
// expect-error: CheckOp<OpWithoutGradient>
#include "small_ops.hpp"

struct OpWithoutGradient : compile_fail::SmallOp<79, zrt::Rung::primitive> {
#ifdef ZRT_COMPILE_FAIL
  static constexpr int gradient = 0;
#endif
};
static_assert(zrt::CheckCatalog<boost::mp11::mp_list<OpWithoutGradient>>::kOk);
