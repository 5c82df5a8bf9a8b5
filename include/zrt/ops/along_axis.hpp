// SPDX-License-Identifier: Apache-2.0
// zrt/ops/along_axis.hpp: what gather and scatter have in common: indices that replace one coordinate.
#pragma once

#include <zrt/ops/index_operand.hpp>
#include <zrt/ops/row_major.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// The shape of operand `indices`. It must be that of x on every axis but the one that attribute `field` names; an
/// extent that only x knows is taken from x.
template <class D>
[[nodiscard]] constexpr Result<BasicShape<D>> shape_along(const RuleCall<D>& c, std::size_t field,
                                                          std::size_t indices) noexcept {
  const BasicShape<D>& x = c.in[0].shape;
  const auto axis = c.axis(field, x.rank);
  if (!axis) return pass(axis);
  BasicShape<D> shape = c.in[indices].shape;
  bool agree = shape.rank == x.rank;
  for (std::size_t d = 0; agree && d < shape.size(); ++d) agree = d == *axis || unify(shape[d], x[d], shape.dims[d]);
  if (!agree) return c.wrong(Errc::shape_mismatch, indices, "but on axis ", *axis, " the extents of x, ", c.in[0]);
  return shape;
}

/// The place of an index that is out of range.
inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

/// Calls `f(i, place)` for each index i of [first, last) in row-major order. `place` is the element of x that the index
/// names, or kNowhere.
template <class F>
void for_each_place(const HostTensor& x, const HostTensor& indices, std::uint32_t axis, const ExecutionContext& step,
                    std::uint64_t first, std::uint64_t last, F&& f) noexcept {
  if (first == last) return;
  const AxisSplit into(x, axis, step);
  const AxisSplit over(indices, axis, step);
  std::uint64_t inner = first % over.inner;
  std::uint64_t n = first / over.inner % over.extent;
  std::uint64_t outer = first / over.inner / over.extent;
  for (std::uint64_t i = first; i < last; ++i) {
    const std::uint64_t index = index_at(indices, i);
    f(i, index < into.extent ? (outer * into.extent + index) * into.inner + inner : kNowhere);
    if (++inner != over.inner) continue;
    inner = 0;
    if (++n != over.extent) continue;
    n = 0;
    ++outer;
  }
}

}  // namespace zrt::inline ZRT_ABI::ops
