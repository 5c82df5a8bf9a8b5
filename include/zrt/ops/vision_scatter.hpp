// SPDX-License-Identifier: Apache-2.0
// zrt/ops/vision_scatter.hpp: rows of images where the tokens of a step stand for them.
#pragma once

#include <zrt/ops/shape_rule.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/take.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

struct VisionScatterParams {
  std::uint32_t first = 0;  ///< column of the images' rows
  std::uint32_t width = 0;  ///< columns from there on

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&VisionScatterParams::first, "first"}, Member{&VisionScatterParams::width, "width"});
};

/// y[t] = columns first to first + width - 1 of images[source[t]]: images f32 [N, d], source si32 [T] -> f32 [T, width].
///
/// The decoder's embedding reads the rows of tokens below 0 alone, so that text may name any row. A row that is not
/// there reports Errc::spec_violation and is zeros.
struct VisionScatter {
  using Params = VisionScatterParams;
  static constexpr Opcode opcode{19};
  static constexpr std::string_view name = "vision_scatter";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"images"}, Role{"source"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<Slice, Take>;

  static constexpr Result<void> infer(const TypeCall<VisionScatter>& c, OutputTypes<VisionScatter>& out) noexcept {
    using Self = VisionScatter;
    if (auto r = expect_input<Self>(c.in[0], "images", DType::f32, 2); !r) return r;
    if (auto r = expect_input<Self>(c.in[1], "source", DType::si32, 1); !r) return r;
    const Shape& images = c.in[0].type.shape;
    const Shape& source = c.in[1].type.shape;
    if (images.rank != 2 || images[1].symbol != 0) return bad_shape<Self>("images", "[rows, columns]", images);
    if (source.rank != 1) return bad_shape<Self>("source", "one axis", source);
    const Params& p = c.params;
    if (p.width == 0 || p.width > images[1].extent || p.first > images[1].extent - p.width)
      return bad_params<Self>("the columns must lie within those of the images");
    out[0] = {DType::f32, Shape{source[0], p.width}};
    return {};
  }

  template <class G> static constexpr Result<Outputs<G, VisionScatter>> expand(G& g, const Call<G, VisionScatter>& c) {
    const Params& p = c.params;
    auto images = c.in[0];
    const Shape& shape = g.type_of(images).shape;
    if (p.width != shape[1].extent)
      images = g.template emit<Slice>({.in = {images}, .params = SliceParams::of_last(shape, p.first, p.width)})[0];
    return g.template emit<Take>({.in = {images, c.in[1]}});
  }
};
static_assert(Op<VisionScatter> && !HasReference<VisionScatter>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
