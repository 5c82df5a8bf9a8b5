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

/// Operand `start` holds one index for each axis of x, and no size is larger than x.
template <class D>
[[nodiscard]] constexpr Result<void> check_window(const RuleCall<D>& c, const BasicShape<D>& sizes,
                                                  std::size_t start) noexcept {
  const BasicShape<D>& x = c.in[0].shape;
  if (auto r = c.indices(start); !r) return r;
  D both;
  if (c.in[start].shape.rank != 1 || !unify(c.in[start].shape[0], D(x.rank), both))
    return c.wrong(Errc::shape_mismatch, start, "one entry for each of ", unsigned{x.rank}, " axes");
  if (sizes.rank != x.rank)
    return c.no(Errc::invalid_params, "sizes has ", unsigned{sizes.rank}, " entries, expected ", unsigned{x.rank});
  for (std::size_t axis = 0; axis < x.size(); ++axis)
    if (sizes[axis].is_constant() && x[axis].is_constant() && sizes[axis].constant() > x[axis].constant())
      return c.wrong(Errc::shape_mismatch, 0, "at least ", sizes[axis], " on axis ", axis);
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
