// SPDX-License-Identifier: Apache-2.0
// zrt/ops/merged_rows.hpp: neighbouring rows side by side, a norm and an MLP: what the mergers of vision encoders share.
#pragma once

#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/layer_norm_runs.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/reshape.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

struct MergedRowsParams {
  float norm_eps = 1e-6f;
  std::uint32_t rows = 4;  ///< of x that become one
  GatedActParams gated{Activation::gelu_tanh};
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&MergedRowsParams::norm_eps, "norm_eps"}, Member{&MergedRowsParams::rows, "rows"},
                 Member{&MergedRowsParams::gated, "gated"}, Member{&MergedRowsParams::reserved, "reserved"});
};

/// The weights of both mergers, in their order.
enum class MergerWeight : std::size_t { norm, norm_bias, up, up_bias, down, down_bias };

/// What vision_spatial_merge and vision_deepstack_extract have in common: rows ÷ `rows`, and W_down act(W_up m + b) + b.
template <class O> struct MergedRows {
  static constexpr auto kWeights = std::to_array({Role{"norm"}, Role{"norm_bias", true}, Role{"up"},
                                                  Role{"up_bias", true}, Role{"down"}, Role{"down_bias", true}});
  using Expansion = boost::mp11::mp_list<LayerNormRuns, Reshape, Linear, GatedAct>;

  /// The weight of `c`, a call of whatever form.
  template <class C> [[nodiscard]] static constexpr const auto& weight(const C& c, MergerWeight which) noexcept {
    return c.w[static_cast<std::size_t>(which)];
  }

  /// The shape of rows of `x` side by side.
  [[nodiscard]] static constexpr Shape merged(const Shape& x, std::uint32_t rows) noexcept {
    return Shape{Dim(x[0].extent / rows, x[0].symbol), x[1].extent * rows};
  }

  /// `normed` is how many elements the norm reads, as a multiple of a row's.
  template <class D>
  static constexpr Result<void> infer(const D& c, std::uint32_t normed, OutputTypes<O>& out) noexcept {
    if (auto r = expect_input<O>(c.in[0], "x", DType::f32, 2); !r) return r;
    const Shape& x = c.in[0].type.shape;
    const std::uint32_t rows = c.params.rows;
    std::uint32_t width = 0;
    if (!(c.params.norm_eps >= 0.0f)) return bad_params<O>("norm_eps must not be negative");
    if (static_cast<std::uint8_t>(c.params.gated.act) >= kActivations) return bad_params<O>("act is not known");
    if (rows == 0) return bad_params<O>("rows must not be 0");
    if (x.rank != 2 || x[1].symbol != 0 || x[0].extent % rows != 0 || !mul_fits(x[1].extent, rows, width))
      return bad_shape<O>("x", "[a multiple of rows, width]", x);
    const std::uint32_t run = normed == 1 ? x[1].extent : width;
    if (auto r = expect_vector<O>(weight(c, MergerWeight::norm), "norm", run, true); !r) return r;
    if (auto r = expect_vector<O>(weight(c, MergerWeight::norm_bias), "norm_bias", run, false); !r) return r;
    if (auto r = expect_layer(c, MergerWeight::up, MergerWeight::up_bias, width); !r) return r;
    const std::uint32_t inner = weight(c, MergerWeight::up).shape[0].extent;
    if (auto r = expect_layer(c, MergerWeight::down, MergerWeight::down_bias, inner); !r) return r;
    out[0] = {DType::f32, merged(x, rows).with_last(weight(c, MergerWeight::down).shape[0])};
    return {};
  }

  template <class G, class C> [[nodiscard]] static constexpr auto normed(G& g, const C& c, auto x) {
    const std::uint32_t run = g.type_of(x).shape.last().extent;
    return g.template emit<LayerNormRuns>({.in = {x},
                                           .w = {weight(c, MergerWeight::norm), weight(c, MergerWeight::norm_bias)},
                                           .params = {.eps = c.params.norm_eps, .dim = run}})[0];
  }
  template <class G, class C> [[nodiscard]] static constexpr auto side_by_side(G& g, const C& c, auto x) {
    const Shape shape = merged(g.type_of(x).shape, c.params.rows);
    return g.template emit<Reshape>({.in = {x}, .params = {ShapeParams::of(shape)}})[0];
  }
  template <class G, class C> [[nodiscard]] static constexpr auto mlp(G& g, const C& c, auto x) {
    const auto up =
        g.template emit<Linear>({.in = {x}, .w = {weight(c, MergerWeight::up), weight(c, MergerWeight::up_bias)}})[0];
    const auto h = g.template emit<GatedAct>({.in = {up, {}}, .params = c.params.gated})[0];
    return g.template emit<Linear>(
        {.in = {h}, .w = {weight(c, MergerWeight::down), weight(c, MergerWeight::down_bias)}});
  }

 private:
  template <class D>
  static constexpr Result<void> expect_layer(const D& c, MergerWeight matrix, MergerWeight bias,
                                             std::uint32_t columns) noexcept {
    const auto role = [](MergerWeight which) { return kWeights[static_cast<std::size_t>(which)].name; };
    if (auto r = expect_matrix<O>(weight(c, matrix), role(matrix), columns); !r) return r;
    return expect_vector<O>(weight(c, bias), role(bias), weight(c, matrix).shape[0].extent, false);
  }
};

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
