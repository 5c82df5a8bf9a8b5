// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/plain.hpp: ops of tensor programs that the CPU computes by the plain loops of their references.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/ops/arg_max.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/concat.hpp>
#include <zrt/ops/cond.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/dequantize.hpp>
#include <zrt/ops/dynamic_slice.hpp>
#include <zrt/ops/dynamic_update_slice.hpp>
#include <zrt/ops/extract_patches.hpp>
#include <zrt/ops/gather.hpp>
#include <zrt/ops/iota.hpp>
#include <zrt/ops/pad.hpp>
#include <zrt/ops/quantize.hpp>
#include <zrt/ops/reduce_window.hpp>
#include <zrt/ops/requantize.hpp>
#include <zrt/ops/rng_normal.hpp>
#include <zrt/ops/rng_uniform.hpp>
#include <zrt/ops/scan.hpp>
#include <zrt/ops/scatter_add.hpp>
#include <zrt/ops/scatter_reduce.hpp>
#include <zrt/ops/segment_reduce.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/tile.hpp>
#include <zrt/ops/top_k.hpp>
#include <zrt/ops/transpose.hpp>
#include <zrt/ops/while_loop.hpp>

#include <boost/mp11/algorithm.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// Ops without kernels of their own: the first worker runs the reference.
using PlainOps =
    boost::mp11::mp_list<ops::Constant, ops::ArgMax, ops::BroadcastTo, ops::Slice, ops::Concat, ops::Transpose,
                         ops::Pad, ops::Tile, ops::Iota, ops::Gather, ops::ScatterAdd, ops::ScatterReduce,
                         ops::ReduceWindow, ops::ExtractPatches, ops::RngUniform, ops::RngNormal, ops::TopK,
                         ops::SegmentReduce, ops::Quantize, ops::Dequantize, ops::Requantize, ops::DynamicSlice,
                         ops::DynamicUpdateSlice, ops::Cond, ops::WhileLoop, ops::Scan>;

template <class O>
concept PlainOp = boost::mp11::mp_contains<PlainOps, O>::value;

/// Bytes of workspace of O's reference.
template <class O>
[[nodiscard]] constexpr CheckedSize plain_scratch([[maybe_unused]] const TypeCall<O>& call,
                                                  [[maybe_unused]] const Extents& bounds) noexcept {
  if constexpr (HasReferenceScratch<O>)
    return O::reference_scratch(call, bounds);
  else
    return 0;
}

/// O's reference on the first worker.
template <class O>
void run_plain(const HostCall<O>& call, const ExecutionContext& step, const Worker& worker) noexcept {
  if (worker.index == 0) O::reference(call, step, worker);
}

template <PlainOp O> struct Adapter<O> {
  static constexpr CheckedSize scratch(const TypeCall<O>& call, const Extents& bounds) noexcept {
    return plain_scratch<O>(call, bounds);
  }
  static Result<void> record(Recorder& r, const HostCall<O>& c) noexcept { return r.push(&run_plain<O>, c); }
};

}  // namespace zrt::inline ZRT_ABI::cpu
