// SPDX-License-Identifier: Apache-2.0
// zrt/ops/along_axis.hpp: what gather and scatter have in common: indices that replace one coordinate.
#pragma once

#include <zrt/ops/index_operand.hpp>
#include <zrt/ops/row_major.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// Demands indices with the axes of `x`, and its extents on all of them but `axis`.
template <class O>
[[nodiscard]] constexpr Result<void> expect_indices_along(const InputInfo& indices, const Shape& x,
                                                          std::uint32_t axis) noexcept {
  if (auto r = expect_indices<O>(indices, "indices"); !r) return r;
  if (axis >= x.rank) return bad_params<O>("axis is none of x");
  const Shape& found = indices.type.shape;
  Shape expected = x;
  expected.dims[axis] = found.rank > axis ? found[axis] : Dim(0);
  if (!(found == expected)) return bad_shape<O>("indices", "the extents of x on all axes but one", found);
  return {};
}

/// Calls `f(i, place)` for the indices i of [first, last) in row-major order, `place` being the element of x
/// that it names, or kNowhere where it is out of range.
inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
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
