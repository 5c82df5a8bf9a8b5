// SPDX-License-Identifier: Apache-2.0
// zrt/ops/layer_norm_runs.hpp: layer normalisation of runs along the last axis, by the weights of a model.
#pragma once

#include <zrt/ops/layer_norm.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct LayerNormRunsParams {
  float eps = 1e-5f;
  std::uint32_t dim = 0;  ///< length of one run

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&LayerNormRunsParams::eps, "eps"}, Member{&LayerNormRunsParams::dim, "dim"});
};

/// y = (x - mean) / sqrt(variance + eps) · weight + bias for each run of `dim` elements of the last axis.
///
/// x f32 [..., n·dim]; weight f32 [dim]; bias f32 [dim], optional. Steps and sums are those of layer_norm.
/// Source: Ba et al., "Layer Normalization".
struct LayerNormRuns {
  using Params = LayerNormRunsParams;
  static constexpr Opcode opcode{111};
  static constexpr std::string_view name = "layer_norm_runs";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"weight"}, Role{"bias", true}});
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<Constant, BroadcastTo, Reshape, LayerNorm>;

  static constexpr Result<void> infer(const TypeCall<LayerNormRuns>& c, OutputTypes<LayerNormRuns>& out) noexcept {
    using Self = LayerNormRuns;
    const Params& p = c.params;
    if (auto r = expect_input<Self>(c.in[0], "x", DType::f32, 1); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (p.dim == 0 || x.last().symbol != 0 || x.last().extent % p.dim != 0)
      return bad_shape<Self>("x", "a last axis of whole runs of the norm", x);
    if (!(p.eps >= 0.0f)) return bad_params<Self>("eps must not be negative");
    if (auto r = expect_vector<Self>(c.w[0], "weight", p.dim, true); !r) return r;
    if (auto r = expect_vector<Self>(c.w[1], "bias", p.dim, false); !r) return r;
    out[0] = c.in[0].type;
    return {};
  }

  static void reference(const HostCall<LayerNormRuns>& c, const ExecutionContext& step, const Worker&) noexcept {
    const std::uint64_t runs = c.in[0].elements(step) / c.params.dim;
    for (std::uint64_t i = 0; i < runs; ++i)
      run(c, c.in[0].as<float>() + i * c.params.dim, c.out[0].as<float>() + i * c.params.dim);
  }

  template <class G> static constexpr Result<Outputs<G, LayerNormRuns>> expand(G& g, const Call<G, LayerNormRuns>& c) {
    const std::uint32_t dim = c.params.dim;
    const Shape whole = g.type_of(c.in[0]).shape;
    const Shape runs = whole.with_last(whole.last().extent / dim).appended(dim);
    const auto shaped = [&](auto x, const Shape& to) {
      return g.template emit<Reshape>({.in = {x}, .params = {ShapeParams::of(to)}})[0];
    };
    const auto value = [&](auto weight) { return g.template emit<Constant>({.in = {}, .w = {weight}})[0]; };
    const auto weight = value(c.w[0]);
    typename G::Tensor bias{};
    if (c.w[1].present()) {
      bias = value(c.w[1]);
    } else {
      // Adding -0 changes nothing, where +0 would turn -0 around.
      const float nothing = -0.0f;
      bias = g.template emit<BroadcastTo>(
          {.in = {value(g.constant({&nothing, 1}))}, .params = {ShapeParams::of(Shape{dim})}})[0];
    }
    const auto y = g.template emit<LayerNorm>(
        {.in = {shaped(c.in[0], runs), weight, bias},
         .params = {.epsilon = double{c.params.eps}, .feature_axis = static_cast<std::uint32_t>(runs.rank - 1)}})[0];
    return Outputs<G, LayerNormRuns>{shaped(y, whole)};
  }

 private:
  /// Normalises one run; x and y may be the same.
  static void run(const HostCall<LayerNormRuns>& c, const float* x, float* y) noexcept {
    const std::uint32_t dim = c.params.dim;
    const float* weight = c.w[0].f32();
    const float* bias = c.w[1].present() ? c.w[1].f32() : nullptr;
    Fold<float> sum(ReduceKind::sum, DType::f32);
    sum.take(x, dim);
    const float mean = sum.result() / integer_to_f32(dim);
    Fold<float> squares(ReduceKind::sum, DType::f32);
    for (std::uint32_t i = 0; i < dim; ++i) {
      const float square = (x[i] - mean) * (x[i] - mean);
      squares.take(&square, 1);
    }
    const float scale = 1.0f / __builtin_sqrtf(squares.result() / integer_to_f32(dim) + c.params.eps);
    for (std::uint32_t i = 0; i < dim; ++i) {
      const float scaled = math::sealed((x[i] - mean) * scale * weight[i]);
      y[i] = bias == nullptr ? scaled : scaled + bias[i];
    }
  }
};
static_assert(Op<LayerNormRuns> && HasReference<LayerNormRuns> && HasExpansion<LayerNormRuns>);

}  // namespace zrt::inline ZRT_ABI::ops
