// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/backend_undeclared_op.cpp: a backend names every op that it does not run.
// expect-error: zrt: the backend neither runs an op of the catalog nor names it in its Unsupported list
// expect-error: CheckBackend<QuietBackend
// expect-error: NoUndeclaredOps
// expect-error: mp_list<LeftOutOp>
#include "small_ops.hpp"

struct ClaimedOp : compile_fail::SmallOp<120> {};
struct LeftOutOp : compile_fail::SmallOp<121> {};

#ifdef ZRT_COMPILE_FAIL
using Unsupported = boost::mp11::mp_list<>;
#else
using Unsupported = boost::mp11::mp_list<LeftOutOp>;
#endif
struct QuietBackend : compile_fail::SmallBackend<boost::mp11::mp_list<ClaimedOp>, Unsupported> {};

template <> struct zrt::Adapter<QuietBackend, ClaimedOp> {
  static Result<void> record(reference::Recorder&, const Call<QuietBackend, ClaimedOp>&) noexcept { return {}; }
};
static_assert(zrt::CheckBackend<QuietBackend, boost::mp11::mp_list<ClaimedOp, LeftOutOp>>::kOk);
