// SPDX-License-Identifier: Apache-2.0
// zrt/ops/dynamic_window.hpp: what dynamic_slice and dynamic_update_slice have in common: a window at a place
// that is data.
#pragma once

#include <zrt/ops/index_operand.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_params.hpp>
#include <zrt/ops/strided_copy.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct DynamicWindowParams {
  ShapeParams sizes{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&DynamicWindowParams::sizes, "sizes"});
};

/// Demands sizes that fit x where both are constants, and a start for every axis.
template <class O>
[[nodiscard]] constexpr Result<void> expect_window(const Shape& x, const InputInfo& start,
                                                   const DynamicWindowParams& params) noexcept {
  if (auto r = expect_indices<O>(start, "start"); !r) return r;
  if (!(start.type.shape == Shape{x.rank}))
    return bad_shape<O>("start", "one axis with an entry for each axis of x", start.type.shape);
  if (!params.sizes.valid()) return bad_params<O>("the rank or symbols of sizes are out of range");
  const Shape sizes = params.sizes.shape();
  if (sizes.rank != x.rank) return bad_shape<O>("x", "as many axes as there are sizes", x);
  for (std::size_t axis = 0; axis < x.rank; ++axis)
    if (x[axis].symbol == 0 && sizes[axis].symbol == 0 && sizes[axis].extent > x[axis].extent)
      return bad_shape<O>("x", "axes that hold the window", x);
  return {};
}

/// Where the window lies in x, its starts clamped into it.
struct DynamicWindow {
  bool fits = true;         ///< no size is larger than x; else nothing else is known
  std::uint64_t first = 0;  ///< its first element in x
  std::size_t rank = 0;
  std::array<CopyAxis, kMaxRank> axes{};  ///< from x to the window

  DynamicWindow(const HostTensor& x, const HostTensor& window, const HostTensor& start,
                const ExecutionContext& step) noexcept
      : rank(x.type.shape.rank) {
    const RowMajor from(x, step);
    const RowMajor to(window, step);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      fits = fits && to.extent[axis] <= from.extent[axis];
      if (!fits) return;
      first += clamped_start(start, axis, from.extent[axis], to.extent[axis]) * from.stride[axis];
      axes[axis] = {to.extent[axis], from.stride[axis], to.stride[axis]};
    }
  }
};

}  // namespace zrt::inline ZRT_ABI::ops
