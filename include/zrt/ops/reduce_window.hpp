// SPDX-License-Identifier: Apache-2.0
// zrt/ops/reduce_window.hpp: sums, maxima or minima over a sliding window.
#pragma once

#include <zrt/ops/accumulate.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/window.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ReduceWindowParams {
  std::array<std::uint32_t, kMaxRank> window{};
  std::array<std::uint32_t, kMaxRank> strides{};
  std::array<std::uint32_t, kMaxRank> pad_low{};
  std::array<std::uint32_t, kMaxRank> pad_high{};
  std::array<std::uint32_t, kMaxRank> base_dilation{};
  std::array<std::uint32_t, kMaxRank> window_dilation{};
  ReduceKind kind = ReduceKind::sum;
  DType accum_dtype = DType::f32;
  DType out_dtype = DType::f32;
  std::uint8_t rank = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&ReduceWindowParams::window, "window"}, Member{&ReduceWindowParams::strides, "strides"},
                 Member{&ReduceWindowParams::pad_low, "pad_low"}, Member{&ReduceWindowParams::pad_high, "pad_high"},
                 Member{&ReduceWindowParams::base_dilation, "base_dilation"},
                 Member{&ReduceWindowParams::window_dilation, "window_dilation"},
                 Member{&ReduceWindowParams::kind, "kind"}, Member{&ReduceWindowParams::accum_dtype, "accum_dtype"},
                 Member{&ReduceWindowParams::out_dtype, "out_dtype"}, Member{&ReduceWindowParams::rank, "rank"});

  [[nodiscard]] constexpr WindowAxis axis(std::size_t i) const noexcept {
    return {window[i], strides[i], pad_low[i], pad_high[i], base_dilation[i], window_dilation[i]};
  }
};

/// Folds the elements of x under a window that slides along every axis; padding and holes hold the
/// identity (PTIR `ReduceWindow`). x of a computed type; an axis that follows the step takes a window of 1.
///
/// Elements are cast to accum_dtype and folded in its domain; the result is rounded to it once and
/// cast to out_dtype. Sums of floats: the order dot16, with ones, over the elements of x under the
/// window in row-major order, so that a window as large as x gives what reduce gives.
struct ReduceWindow {
  using Params = ReduceWindowParams;
  static constexpr Opcode opcode{93};
  static constexpr std::string_view name = "reduce_window";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes =
      attribute_list(attribute::choice("kind", &Params::kind, kReduceNames),
                     attribute::numbers("window", &Params::window, &Params::rank),
                     attribute::numbers("strides", &Params::strides, &Params::rank),
                     attribute::numbers("pad_low", &Params::pad_low, &Params::rank),
                     attribute::numbers("pad_high", &Params::pad_high, &Params::rank),
                     attribute::numbers("base_dilation", &Params::base_dilation, &Params::rank),
                     attribute::numbers("window_dilation", &Params::window_dilation, &Params::rank),
                     attribute::dtype("accum_dtype", &Params::accum_dtype, DTypeDefault::accumulator),
                     attribute::dtype("out_dtype", &Params::out_dtype, DTypeDefault::operand));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    constexpr WindowFields kFields{at<ReduceWindow>("window"),        at<ReduceWindow>("strides"),
                                   at<ReduceWindow>("pad_low"),       at<ReduceWindow>("pad_high"),
                                   at<ReduceWindow>("base_dilation"), at<ReduceWindow>("window_dilation")};
    BasicShape<D> shape = c.in[0].shape;
    if (auto r = check_windows(c, kFields, shape.rank); !r) return r;
    CheckedSize elements = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto places = window_places(c, kFields, axis, shape[axis]);
      if (!places) return pass(places);
      shape.dims[axis] = *places;
      elements *= CheckedSize(c.number(kFields.window, axis));
    }
    if (!elements.ok()) return c.no(Errc::size_overflow, "the elements of a window do not fit 64 bits");
    const DType dtype = c.in[0].dtype;
    const DType result = c.dtype_or(at<ReduceWindow>("out_dtype"), dtype);
    if (auto r = check_fold(c, c.template choice<ReduceKind>(at<ReduceWindow>("kind")),
                            c.dtype_or(at<ReduceWindow>("accum_dtype"), default_accumulator(dtype)), result);
        !r)
      return r;
    return c.give(result, shape);
  }

  static constexpr CheckedSize steps_per_element(const TypeCall<ReduceWindow>& c) noexcept {
    CheckedSize elements = 1;
    for (std::size_t axis = 0; axis < c.params.rank; ++axis) elements *= CheckedSize(c.params.window[axis]);
    return elements;
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<ReduceWindow>& c, const Extents& bounds) noexcept {
    return c.in[0].type.shape.elements(bounds) * CheckedSize(domain_bytes(c.params.accum_dtype));
  }

  static void reference(const HostCall<ReduceWindow>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Params& p = c.params;
    visit_domain(p.accum_dtype, [&]<class T>(std::type_identity<T>) {
      const RowMajor x(c.in[0], step);
      T* values = reinterpret_cast<T*>(worker.scratch.data());
      for_each_cast<T>(c.in[0].type.dtype, c.in[0].data, x.elements, p.accum_dtype,
                       [&](std::uint64_t i, T value) { values[i] = value; });
      const RowMajor y(c.out[0], step);
      const RowMajor window(Span(p.window).first(x.rank));
      ElementIndex at;
      // Results go out in whole runs, so that 4-bit ones fill their bytes.
      T results[kFoldRun];
      for (std::uint64_t i = 0; i < y.elements; ++i, at.advance(y)) {
        const std::uint64_t in_run = i % kFoldRun;
        results[in_run] = under(p, values, x, window, at);
        if (in_run + 1 == kFoldRun || i + 1 == y.elements)
          store_accumulated(p.accum_dtype, results, in_run + 1, p.out_dtype,
                            c.out[0].data + bytes_of(p.out_dtype, i - in_run));
      }
    });
  }

  /// In ir/gradient/windows.hpp.
  template <class G> static void gradient(G& c) noexcept { reduce_window_gradient(c); }

  /// In plan/c/emit_window.hpp.
  template <class E> static void emit_c(E& f, const Call<E, ReduceWindow>& c) noexcept { emit_reduce_window(f, c); }

 private:
  /// The fold of what lies under the window at one place.
  template <class T>
  static T under(const Params& p, const T* values, const RowMajor& x, const RowMajor& window,
                 const ElementIndex& at) noexcept {
    T lanes[16];
    std::fill_n(lanes, 16, identity<T>(p.kind, p.accum_dtype));
    ElementIndex w;
    for (std::uint64_t n = 0, i = 0; i < window.elements; ++i, w.advance(window)) {
      std::uint64_t place = 0;
      bool inside = true;
      for (std::size_t axis = 0; axis < x.rank && inside; ++axis) {
        const std::uint64_t element = p.axis(axis).source(at.at[axis], w.at[axis], x.extent[axis]);
        inside = element != WindowAxis::kPadding;
        if (inside) place += element * x.stride[axis];
      }
      if (!inside) continue;
      T& lane = lanes[n++ % 16];
      lane = fold(p.kind, lane, values[place]);
    }
    for (std::size_t half = 8; half != 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) lanes[i] = fold(p.kind, lanes[i], lanes[i + half]);
    return lanes[0];
  }
};
static_assert(Op<ReduceWindow> && HasReferenceScratch<ReduceWindow>);

}  // namespace zrt::inline ZRT_ABI::ops
