// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/op_numbers_shared.cpp: two ops never share a number.
// expect-error: zrt: two ops of the catalog share a number
// expect-error: NumbersDiffer
// expect-error: mp_list<FirstOp, SecondOp>
#include "small_ops.hpp"

struct FirstOp : compile_fail::SmallOp<120> {};
#ifdef ZRT_COMPILE_FAIL
struct SecondOp : compile_fail::SmallOp<120> {};
#else
struct SecondOp : compile_fail::SmallOp<121> {};
#endif
static_assert(zrt::CheckCatalog<boost::mp11::mp_list<FirstOp, SecondOp>>::kOk);
