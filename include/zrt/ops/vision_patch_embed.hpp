// SPDX-License-Identifier: Apache-2.0
// zrt/ops/vision_patch_embed.hpp: patches of an image as rows of a vision encoder.
#pragma once

#include <zrt/ops/linear.hpp>
#include <zrt/ops/residual_add.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

/// y = W p + W2 p + b + places: patches f32 [P, n], places f32 [P, d] -> f32 [P, d].
///
/// `kernel` [d, n]; `second` [d, n], optional, is the kernel of a second frame, which is the first one in a still image;
/// `bias` f32 [d], optional. Source: the convolution of the Qwen 2 VL and Qwen 3 VL families, whose stride is its size.
struct VisionPatchEmbed {
  using Params = NoParams;
  static constexpr Opcode opcode{16};
  static constexpr std::string_view name = "vision_patch_embed";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"patches"}, Role{"places"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"kernel"}, Role{"second", true}, Role{"bias", true}});
  enum Weight : std::size_t { kernel, second, bias };
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<Linear, ResidualAdd>;

  static constexpr Result<void> infer(const TypeCall<VisionPatchEmbed>& c,
                                      OutputTypes<VisionPatchEmbed>& out) noexcept {
    using Self = VisionPatchEmbed;
    for (std::size_t i = 0; i < 2; ++i)
      if (auto r = expect_input<Self>(c.in[i], input_roles[i].name, DType::f32, 2); !r) return r;
    const Shape& patches = c.in[0].type.shape;
    if (patches.rank != 2 || patches[1].symbol != 0) return bad_shape<Self>("patches", "[patches, elements]", patches);
    if (auto r = expect_matrix<Self>(c.w[kernel], "kernel", patches[1].extent); !r) return r;
    const Dim width = c.w[kernel].shape[0];
    if (c.w[second].present()) {
      if (auto r = expect_matrix<Self>(c.w[second], "second", patches[1].extent); !r) return r;
      if (c.w[second].shape[0] != width) return bad_shape<Self>("second", "the shape of kernel", c.w[second].shape);
    }
    if (auto r = expect_vector<Self>(c.w[bias], "bias", width.extent, false); !r) return r;
    out[0] = {DType::f32, patches.with_last(width)};
    if (!(c.in[1].type.shape == out[0].shape))
      return bad_shape<Self>("places", "[patches, rows of kernel]", c.in[1].type.shape);
    return {};
  }

  template <class G>
  static constexpr Result<Outputs<G, VisionPatchEmbed>> expand(G& g, const Call<G, VisionPatchEmbed>& c) {
    auto y = g.template emit<Linear>({.in = {c.in[0]}, .w = {c.w[kernel], c.w[bias]}})[0];
    if (c.w[second].present()) {
      const auto other = g.template emit<Linear>({.in = {c.in[0]}, .w = {c.w[second]}})[0];
      y = g.template emit<ResidualAdd>({.in = {y, other}})[0];
    }
    return g.template emit<ResidualAdd>({.in = {y, c.in[1]}});
  }
};
static_assert(Op<VisionPatchEmbed> && !HasReference<VisionPatchEmbed>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
