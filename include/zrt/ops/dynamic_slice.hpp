// SPDX-License-Identifier: Apache-2.0
// zrt/ops/dynamic_slice.hpp: a window of a tensor at a place that is data.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/dynamic_window.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// Takes the window of `sizes` that begins at `start`, clamped so that it lies in x; x of any plain
/// type, start si32 or si64 (PTIR `DynamicSlice`).
///
/// A size larger than x reports Errc::spec_violation in the step's status and gives zeros.
struct DynamicSlice {
  using Params = DynamicWindowParams;
  static constexpr Opcode opcode{86};
  static constexpr std::string_view name = "dynamic_slice";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"start"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(attribute::shape("sizes", &Params::sizes));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const BasicShape<D>& sizes = c.shape(at<DynamicSlice>("sizes"));
    if (auto r = check_window(c, sizes, 1); !r) return r;
    return c.give(c.in[0].dtype, sizes);
  }

  /// Which element of x each of y is; none where a size is larger than x.
  [[nodiscard]] static std::optional<CopyBox> box(const HostCall<DynamicSlice>& c,
                                                  const ExecutionContext& step) noexcept {
    return window_box(c.in[0], c.out[0], c.in[1], step);
  }

  static void reference(const HostCall<DynamicSlice>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    if (const auto window = box(c, step)) return copy_strided(c.in[0].type.dtype, c.in[0].data, c.out[0].data, *window);
    clear(c.out[0], step);
    step.violated(worker);
  }

  template <class G> static void gradient(G& c) noexcept {
    auto& b = c.builder();
    c.give(0, b.dynamic_update_slice(c.zeros(b, c.in_type(0)), c.cotangent(), c.in(1)));
  }

  template <class E> static void emit_c(E& f, const Call<E, DynamicSlice>& c) noexcept {
    if (c.out[0].elements() == 0) return;
    const auto axes = open_window(f.w, c.in[0], c.out[0], c.in[1]);
    copy_box(f.w, c.in[0].dtype(), c.in[0].pointer(), {"first"}, c.out[0].pointer(), {"0"},
             Span(axes).first(c.in[0].type.shape.rank));
    f.w.close();
  }
};
static_assert(Op<DynamicSlice>);

}  // namespace zrt::inline ZRT_ABI::ops
