// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/host_op_without_adapter.cpp: an op of the host's has an adapter on the backend that claims it.
// expect-error: zrt: a list of ops holds one that the backend claims and has no adapter for
// expect-error: HasAdapter
// expect-error: Square
#include "small_ops.hpp"
#include <zrt/backend/cpu.hpp>

struct Square : compile_fail::SmallOp<127> {};
#ifndef ZRT_COMPILE_FAIL
template <> struct zrt::cpu::Adapter<Square> {
  static Result<void> record(Recorder&, const HostCall<Square>&) noexcept { return {}; }
};
#endif
using Backend =
    zrt::BasicCpuBackend<zrt::cpu::WeightTypes<>, zrt::cpu::Variants<zrt::cpu::Isa::v1>, boost::mp11::mp_list<Square>>;
zrt::exec::OpAdapters<Backend> ops() {
  return zrt::exec::OpAdapters<Backend>::of<boost::mp11::mp_list<zrt::ops::ResidualAdd, Square>>();
}
