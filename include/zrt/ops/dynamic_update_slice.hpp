// SPDX-License-Identifier: Apache-2.0
// zrt/ops/dynamic_update_slice.hpp: a tensor with a window overwritten at a place that is data.
#pragma once

#include <zrt/ops/dynamic_window.hpp>

#include <utility>

namespace zrt::inline ZRT_ABI::ops {

/// Gives x with `update`, whose shape is `sizes`, in the window that begins at `start`, clamped so that
/// it lies in x; x of any plain type, start si32 or si64 (PTIR `DynamicUpdateSlice`).
///
/// An update larger than x reports Errc::spec_violation in the step's status and changes nothing.
struct DynamicUpdateSlice {
  using Params = DynamicWindowParams;
  static constexpr Opcode opcode{87};
  static constexpr std::string_view name = "dynamic_update_slice";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"update"}, Role{"start"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<DynamicUpdateSlice>& c,
                                      OutputTypes<DynamicUpdateSlice>& out) noexcept {
    if (auto r = expect_plain<DynamicUpdateSlice>(c.in[0], "x"); !r) return r;
    if (auto r = expect_same_dtype<DynamicUpdateSlice>(c.in[1], "update", c.in[0].type.dtype, "x"); !r) return r;
    if (auto r = expect_window<DynamicUpdateSlice>(c.in[0].type.shape, c.in[2], c.params); !r) return r;
    if (!(c.in[1].type.shape == c.params.sizes.shape()))
      return bad_shape<DynamicUpdateSlice>("update", "the extents of sizes", c.in[1].type.shape);
    out[0] = c.in[0].type;
    return {};
  }

  /// Where the elements of `update` are in y; none where it is larger than x.
  [[nodiscard]] static std::optional<CopyBox> box(const HostCall<DynamicUpdateSlice>& c,
                                                  const ExecutionContext& step) noexcept {
    auto window = window_box(c.in[0], c.in[1], c.in[2], step);
    if (!window) return window;
    std::swap(window->from_first, window->to_first);
    for (CopyAxis& axis : window->axis) std::swap(axis.from_stride, axis.to_stride);
    return window;
  }

  static void reference(const HostCall<DynamicUpdateSlice>& c, const ExecutionContext& step,
                        const Worker& worker) noexcept {
    copy_value(c.in[0], c.out[0], step);
    const auto window = box(c, step);
    if (!window) return step.violated(worker);
    copy_strided(c.in[0].type.dtype, c.in[1].data, c.out[0].data, *window);
  }
};
static_assert(Op<DynamicUpdateSlice>);

}  // namespace zrt::inline ZRT_ABI::ops
