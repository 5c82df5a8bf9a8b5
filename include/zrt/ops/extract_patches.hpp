// SPDX-License-Identifier: Apache-2.0
// zrt/ops/extract_patches.hpp: the elements under a sliding window as rows (im2col).
#pragma once

#include <zrt/ops/element_value.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_rule.hpp>
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

  static constexpr Result<void> infer(const TypeCall<ExtractPatches>& c, OutputTypes<ExtractPatches>& out) noexcept {
    if (auto r = expect_plain<ExtractPatches>(c.in[0], "x"); !r) return r;
    const Params& p = c.params;
    const Shape& x = c.in[0].type.shape;
    if (x.rank < 3 || p.spatial != x.rank - 2u)
      return bad_shape<ExtractPatches>("x", "[N, spatial..., C] with the window's spatial axes", x);
    out[0] = c.in[0].type;
    CheckedSize elements = 1;
    for (std::size_t i = 0; i < p.spatial; ++i) {
      const auto places = window_places<ExtractPatches>(x[i + 1], p.axis(i));
      if (!places) return pass(places);
      out[0].shape.dims[i + 1] = *places;
      elements *= CheckedSize(p.window[i]);
    }
    const auto patch = elements.get("a patch");
    if (!patch) return pass(patch);
    const auto channel = times<ExtractPatches>(x.last(), *patch);
    if (!channel) return pass(channel);
    out[0].shape.dims[x.rank - 1u] = *channel;
    return {};
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
};
static_assert(Op<ExtractPatches>);

}  // namespace zrt::inline ZRT_ABI::ops
