// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/backend_missing_adapter.cpp: a claimed op has an adapter; the message names both.
// expect-error: zrt: the backend claims an op without an adapter; add an Adapter<Backend, Op> specialisation
// expect-error: CheckBackend<ForgetfulBackend
// expect-error: NoMissingAdapters
// expect-error: mp_list<ForgottenOp>
#include "small_ops.hpp"

struct PresentOp : compile_fail::SmallOp<120> {};
struct ForgottenOp : compile_fail::SmallOp<121> {};
using Ops = boost::mp11::mp_list<PresentOp, ForgottenOp>;

struct ForgetfulBackend : compile_fail::SmallBackend<Ops> {};

template <> struct zrt::Adapter<ForgetfulBackend, PresentOp> {
  static Result<void> record(reference::Recorder&, const Call<ForgetfulBackend, PresentOp>&) noexcept { return {}; }
};
#ifndef ZRT_COMPILE_FAIL
template <> struct zrt::Adapter<ForgetfulBackend, ForgottenOp> {
  static Result<void> record(reference::Recorder&, const Call<ForgetfulBackend, ForgottenOp>&) noexcept { return {}; }
};
#endif
static_assert(zrt::CheckBackend<ForgetfulBackend, Ops>::kOk);
