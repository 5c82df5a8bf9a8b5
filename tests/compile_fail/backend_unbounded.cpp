// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/backend_unbounded.cpp: a relaxed adapter states its bound, a canonical one has none.
// expect-error: zrt: an adapter's capability is relaxed without a bound above 0, or canonical with one
// expect-error: CheckBackend<LooseBackend
// expect-error: NoMisstatedNumerics
// expect-error: mp_list<UnboundedOp, BoundedOp>
#include "small_ops.hpp"

#ifdef ZRT_COMPILE_FAIL
constexpr bool kUnbounded = true;
#else
constexpr bool kUnbounded = false;
#endif

struct RelaxedOp : compile_fail::SmallOp<120> {};
struct UnboundedOp : compile_fail::SmallOp<121> {};
struct BoundedOp : compile_fail::SmallOp<122> {};
using BoundedOps = boost::mp11::mp_list<RelaxedOp, UnboundedOp, BoundedOp>;

struct LooseBackend : compile_fail::SmallBackend<BoundedOps> {};

template <class O, zrt::NumericsClass Class, int Thousandths> struct Stated {
  static constexpr zrt::AdapterCapability capability{.numerics = Class, .bound = 1e-3f * Thousandths};
  static zrt::Result<void> record(zrt::reference::Recorder&, const zrt::Call<LooseBackend, O>&) noexcept { return {}; }
};
using enum zrt::NumericsClass;
template <> struct zrt::Adapter<LooseBackend, RelaxedOp> : Stated<RelaxedOp, relaxed, 1> {};
template <> struct zrt::Adapter<LooseBackend, UnboundedOp> : Stated<UnboundedOp, relaxed, kUnbounded ? 0 : 1> {};
template <> struct zrt::Adapter<LooseBackend, BoundedOp> : Stated<BoundedOp, canonical, kUnbounded ? 1 : 0> {};
static_assert(zrt::CheckBackend<LooseBackend, BoundedOps>::kOk);
