// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/op_number_outside_rung.cpp: a primitive's number is 64 to 102 or 107 to 127.
// expect-error: zrt: this op's number lies outside the range of its rung
// expect-error: CheckOp<StrayOp>
// expect-error: NumberFitsRung
#include "small_ops.hpp"

#ifdef ZRT_COMPILE_FAIL
struct StrayOp : compile_fail::SmallOp<103, zrt::Rung::primitive> {};
#else
struct StrayOp : compile_fail::SmallOp<79, zrt::Rung::primitive> {};
#endif
static_assert(zrt::CheckCatalog<boost::mp11::mp_list<StrayOp>>::kOk);
