// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/op_form_in_c_unsaid.cpp: a primitive says its form in C, or that it has none.
// expect-error: zrt: this primitive says nothing of its form in C
// expect-error: CheckOp<OpWithoutFormInC>
#include "small_ops.hpp"

struct OpWithoutFormInC : compile_fail::SmallOp<79, zrt::Rung::primitive> {
#ifdef ZRT_COMPILE_FAIL
  static constexpr int emit_c = 0;
#endif
};
static_assert(zrt::CheckCatalog<boost::mp11::mp_list<OpWithoutFormInC>>::kOk);
