// SPDX-License-Identifier: Apache-2.0
// zrt/ops/dynamic_window.hpp: what dynamic_slice and dynamic_update_slice have in common: a window at a place
// that is data.
#pragma once

#include <zrt/ops/index_operand.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_params.hpp>
#include <zrt/ops/strided_copy.hpp>

#include <optional>

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

/// Which element of x each of `window` is, its starts clamped into x; none where a size is larger than x.
[[nodiscard]] inline std::optional<CopyBox> window_box(const HostTensor& x, const HostTensor& window,
                                                       const HostTensor& start, const ExecutionContext& step) noexcept {
  const RowMajor from(x, step);
  const RowMajor to(window, step);
  CopyBox box;
  for (std::size_t axis = 0; axis < from.rank; ++axis) {
    if (to.extent[axis] > from.extent[axis]) return std::nullopt;
    box.from_first += clamped_start(start, axis, from.extent[axis], to.extent[axis]) * from.stride[axis];
    box.add(to.extent[axis], from.stride[axis], to.stride[axis]);
  }
  return box;
}

}  // namespace zrt::inline ZRT_ABI::ops
