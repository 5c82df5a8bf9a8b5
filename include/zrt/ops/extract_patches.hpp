// SPDX-License-Identifier: Apache-2.0
// zrt/ops/extract_patches.hpp: the elements under a sliding window as rows (im2col).
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/element_value.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/window.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ExtractPatchesParams {
  static constexpr std::size_t kMaxSpatial = kMaxRank - 2u;

  std::array<std::uint32_t, kMaxSpatial> window{};
  std::array<std::uint32_t, kMaxSpatial> strides{};
  std::array<std::uint32_t, kMaxSpatial> pad_low{};
  std::array<std::uint32_t, kMaxSpatial> pad_high{};
  std::array<std::uint32_t, kMaxSpatial> dilation{};
  ElementValue pad_value{};  ///< of x's dtype
  std::uint32_t spatial = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(
      Member{&ExtractPatchesParams::window, "window"}, Member{&ExtractPatchesParams::strides, "strides"},
      Member{&ExtractPatchesParams::pad_low, "pad_low"}, Member{&ExtractPatchesParams::pad_high, "pad_high"},
      Member{&ExtractPatchesParams::dilation, "dilation"}, Member{&ExtractPatchesParams::pad_value, "pad_value"},
      Member{&ExtractPatchesParams::spatial, "spatial"});

  [[nodiscard]] constexpr WindowAxis axis(std::size_t i) const noexcept {
    return {window[i], strides[i], pad_low[i], pad_high[i], 1, dilation[i]};
  }
};

/// Gives for each place of a window over the spatial axes of x [N, spatial..., C] the elements under
/// it, window first and channel last: [N, places..., window elements * C] (PTIR `ExtractPatches`).
///
/// x of any plain type; a spatial axis that follows the step takes a window of 1.
struct ExtractPatches {
  using Params = ExtractPatchesParams;
  static constexpr Opcode opcode{94};
  static constexpr std::string_view name = "extract_patches";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"patches"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(attribute::numbers("window", &Params::window, &Params::spatial),
                                                    attribute::numbers("strides", &Params::strides, &Params::spatial),
                                                    attribute::numbers("pad_low", &Params::pad_low, &Params::spatial),
                                                    attribute::numbers("pad_high", &Params::pad_high, &Params::spatial),
                                                    attribute::numbers("dilation", &Params::dilation, &Params::spatial),
                                                    attribute::element("pad_value", &Params::pad_value, true));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    constexpr WindowFields kFields{at<ExtractPatches>("window"),  at<ExtractPatches>("strides"),
                                   at<ExtractPatches>("pad_low"), at<ExtractPatches>("pad_high"),
                                   WindowFields::kNone,           at<ExtractPatches>("dilation")};
    constexpr std::size_t kValue = at<ExtractPatches>("pad_value");
    BasicShape<D> shape = c.in[0].shape;
    if (shape.rank < 3) return c.wrong(Errc::shape_mismatch, 0, "[N, spatial..., C]");
    const std::size_t spatial = shape.size() - 2;
    if (auto r = check_windows(c, kFields, spatial); !r) return r;
    if (c.has(kValue) && !(c.literal(kValue) == BasicTensorType<D>{c.in[0].dtype, {}}))
      return c.no(Errc::dtype_mismatch, "pad_value must be a scalar of ", zrt::name(c.in[0].dtype));
    CheckedSize elements = 1;
    for (std::size_t i = 0; i < spatial; ++i) {
      const auto places = window_places(c, kFields, i, shape[i + 1]);
      if (!places) return pass(places);
      shape.dims[i + 1] = *places;
      elements *= CheckedSize(c.number(kFields.window, i));
    }
    if (!elements.ok()) return c.too_large();
    const auto patch = times(shape[spatial + 1], elements.raw());
    if (!patch) return c.too_large();
    shape.dims[spatial + 1] = *patch;
    return c.give(c.in[0].dtype, shape);
  }

  static void reference(const HostCall<ExtractPatches>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Params& p = c.params;
    const DType dtype = c.in[0].type.dtype;
    const RowMajor x(c.in[0], step);
    const RowMajor y(c.out[0], step);
    const RowMajor window(Span(p.window).first(p.spatial));
    const std::uint64_t channels = x.extent[x.rank - 1u];
    if (y.elements == 0) return;
    std::uint64_t to = 0;
    ElementIndex at;
    // The last axis of the result is the patch, so its index goes through the places alone.
    RowMajor places = y;
    places.rank = static_cast<std::uint8_t>(y.rank - 1);
    while (to < y.elements) {
      ElementIndex w;
      for (std::uint64_t i = 0; i < window.elements; ++i, w.advance(window), to += channels) {
        std::uint64_t from = at.at[0] * x.stride[0];
        bool inside = true;
        for (std::size_t axis = 0; axis < p.spatial && inside; ++axis) {
          const std::uint64_t element = p.axis(axis).source(at.at[axis + 1], w.at[axis], x.extent[axis + 1]);
          inside = element != WindowAxis::kPadding;
          if (inside) from += element * x.stride[axis + 1];
        }
        if (inside)
          copy_elements(dtype, c.in[0].data, from, c.out[0].data, to, channels);
        else
          fill_with(p.pad_value, dtype, c.out[0].data, to, channels);
      }
      at.advance(places);
    }
  }

  /// In ir/gradient/windows.hpp.
  template <class G> static void gradient(G& c) noexcept { extract_patches_gradient(c); }

  /// In plan/c/emit_window.hpp.
  template <class E> static void emit_c(E& f, const Call<E, ExtractPatches>& c) noexcept { emit_extract_patches(f, c); }
};
static_assert(Op<ExtractPatches>);

}  // namespace zrt::inline ZRT_ABI::ops
