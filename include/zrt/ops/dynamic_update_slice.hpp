// SPDX-License-Identifier: Apache-2.0
// zrt/ops/dynamic_update_slice.hpp: a tensor with a window overwritten at a place that is data.
#pragma once

#include <zrt/ops/attributes.hpp>
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

  static constexpr auto attributes = attribute_list(attribute::shape("sizes", &Params::sizes));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const BasicShape<D>& sizes = c.shape(at<DynamicUpdateSlice>("sizes"));
    if (auto r = check_window(c, sizes, 2); !r) return r;
    if (c.in[1].dtype != c.in[0].dtype) return c.differs(Errc::dtype_mismatch, 1, 0);
    BasicShape<D> both;
    if (!unify(c.in[1].shape, sizes, both)) return c.wrong(Errc::shape_mismatch, 1, "the extents of sizes");
    return c.give(c.in[0]);
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

  template <class G> static void gradient(G& c) noexcept {
    auto& b = c.builder();
    const auto g = c.cotangent();
    if (c.wants(0)) c.give(0, b.dynamic_update_slice(g, c.zeros(b, c.in_type(1)), c.in(2)));
    if (c.wants(1)) c.give(1, b.dynamic_slice(g, c.in(2), c.in_type(1).shape));
  }

  template <class E> static void emit_c(E& f, const Call<E, DynamicUpdateSlice>& c) noexcept {
    copy_whole(f.w, c.in[0], c.out[0]);
    if (c.in[1].elements() == 0) return;
    auto axes = open_window(f.w, c.in[0], c.in[1], c.in[2]);
    for (CopyAxis& axis : axes) std::swap(axis.from_stride, axis.to_stride);
    copy_box(f.w, c.in[0].dtype(), c.in[1].pointer(), {"0"}, c.out[0].pointer(), {"first"},
             Span(axes).first(c.in[0].type.shape.rank));
    f.w.close();
  }
};
static_assert(Op<DynamicUpdateSlice>);

}  // namespace zrt::inline ZRT_ABI::ops
