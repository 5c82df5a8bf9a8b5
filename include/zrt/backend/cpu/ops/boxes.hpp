// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/boxes.hpp: ops whose result is one box of their first input's elements.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/box_copy.hpp>
#include <zrt/backend/cpu/fixed_shapes.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/dynamic_slice.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/tile.hpp>
#include <zrt/ops/transpose.hpp>

#include <boost/mp11/algorithm.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::cpu {

using BoxOps = boost::mp11::mp_list<ops::BroadcastTo, ops::DynamicSlice, ops::Slice, ops::Tile, ops::Transpose>;

/// An op that copies one box of its input.
template <class O>
concept BoxOp = boost::mp11::mp_contains<BoxOps, O>::value;

/// The box is described in every step; without one the step is violated, and the result is zeros.
template <BoxOp O>
void copy_described(const HostCall<O>& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const HostTensor& y = c.out[0];
  const std::optional<ops::CopyBox> box = O::box(c, step);
  if (box) return copy_box(y.type.dtype, c.in[0].data, y.data, *box, step, worker);
  step.violated(worker);
  clear_elements(y.type.dtype, y.data, y.elements(step), step, worker);
}

/// Where nothing of the box follows the step, its pieces are described once.
template <BoxOp O> struct Adapter<O> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<O>& c) noexcept {
    const DTypeInfo& type = info(c.out[0].type.dtype);
    constexpr bool kData = std::same_as<O, ops::DynamicSlice>;
    if (kData || type.block_elems != 1 || !fixed_shapes(c)) return r.push(&copy_described<O>, c);
    const std::optional<ops::CopyBox> box = O::box(c, ExecutionContext{});
    if (!box) return r.push(&copy_described<O>, c);
    return r.push(&move_pieces, BoxPieces(type.block_bytes, c.in[0].data, c.out[0].data, *box));
  }
};

}  // namespace zrt::inline ZRT_ABI::cpu
