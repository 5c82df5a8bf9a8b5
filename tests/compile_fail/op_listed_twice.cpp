// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/op_listed_twice.cpp: a catalog lists each op once.
// expect-error: zrt: an op is listed twice in the catalog
// expect-error: EachOpOnce
// expect-error: mp_list<TwiceOp, OtherOp, TwiceOp>
#include "small_ops.hpp"

struct TwiceOp : compile_fail::SmallOp<120> {};
struct OtherOp : compile_fail::SmallOp<121> {};

#ifdef ZRT_COMPILE_FAIL
using RepeatingOps = boost::mp11::mp_list<TwiceOp, OtherOp, TwiceOp>;
#else
using RepeatingOps = boost::mp11::mp_list<TwiceOp, OtherOp>;
#endif
static_assert(zrt::CheckCatalog<RepeatingOps>::kOk);
