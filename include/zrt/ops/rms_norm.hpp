// SPDX-License-Identifier: Apache-2.0
// zrt/ops/rms_norm.hpp: root-mean-square normalisation of runs along the last axis.
#pragma once

#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/reduce.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/shape_rule.hpp>
#include <zrt/quant/dot.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct RmsNormParams {
  float eps = 1e-5f;
  float weight_offset = 0.0f;  ///< added to the weight (1 for files that store weight - 1)
  std::uint32_t dim = 0;       ///< length of one run

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&RmsNormParams::eps, "eps"}, Member{&RmsNormParams::weight_offset, "weight_offset"},
                 Member{&RmsNormParams::dim, "dim"});
};

/// y = x / sqrt(mean(x²) + eps) · (weight + offset) for each run of `dim` elements of the last axis.
///
/// x f32 [..., n·dim]; weight f32 [dim], optional. Sums: dot16 over the run.
/// Source: Zhang and Sennrich, "Root Mean Square Layer Normalization".
struct RmsNorm {
  using Params = RmsNormParams;
  static constexpr Opcode opcode{0};
  static constexpr std::string_view name = "rms_norm";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"weight", true}});
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<Constant, Reshape, BroadcastTo, Reduce, ElementwiseUnary, ElementwiseBinary>;

  /// The rule that every op with a norm inside shares.
  template <class O>
  static constexpr Result<void> check(const RmsNormParams& p, const Shape& x, const WeightInfo& weight) noexcept {
    if (p.dim == 0 || x.last().symbol != 0 || x.last().extent % p.dim != 0)
      return bad_shape<O>("x", "a last axis of whole runs of the norm", x);
    if (!(p.eps >= 0.0f)) return bad_params<O>("eps must not be negative");
    return expect_vector<O>(weight, "norm weight", p.dim, false);
  }

  static constexpr Result<void> infer(const TypeCall<RmsNorm>& c, OutputTypes<RmsNorm>& out) noexcept {
    if (auto r = expect_input<RmsNorm>(c.in[0], "x", DType::f32, 1); !r) return r;
    if (auto r = check<RmsNorm>(c.params, c.in[0].type.shape, c.w[0]); !r) return r;
    out[0] = c.in[0].type;
    return {};
  }

  /// Normalises one run; x and y may be the same.
  static void run(const RmsNormParams& p, const float* x, const float* weight, float* y) noexcept {
    const float mean = quant::dot16(x, x, p.dim) / static_cast<float>(p.dim);
    const float scale = 1.0f / __builtin_sqrtf(mean + p.eps);
    for (std::uint32_t i = 0; i < p.dim; ++i) {
      const float normed = x[i] * scale;
      y[i] = weight == nullptr ? normed : normed * (weight[i] + p.weight_offset);
    }
  }

  static void reference(const HostCall<RmsNorm>& c, const ExecutionContext& step, const Worker&) noexcept {
    const float* weight = c.w[0].present() ? c.w[0].f32() : nullptr;
    const std::uint64_t runs = c.in[0].elements(step) / c.params.dim;
    for (std::uint64_t i = 0; i < runs; ++i)
      run(c.params, c.in[0].as<float>() + i * c.params.dim, weight, c.out[0].as<float>() + i * c.params.dim);
  }

  template <class G> static constexpr Result<Outputs<G, RmsNorm>> expand(G& g, const Call<G, RmsNorm>& c) {
    const Shape whole = g.type_of(c.in[0]).shape;
    const Shape runs = whole.with_last(whole.last().extent / c.params.dim).appended(c.params.dim);
    const Shape one = runs.with_last(1);
    auto binary = [&](BinaryKind kind, auto a, auto b) {
      return g.template emit<ElementwiseBinary>({.in = {a, b}, .params = {kind}})[0];
    };
    auto spread = [&](auto value, const Shape& to) {
      return g.template emit<BroadcastTo>({.in = {value}, .params = {ShapeParams::of(to)}})[0];
    };
    auto scalar = [&](float value) {
      return spread(g.template emit<Constant>({.in = {}, .w = {g.constant({&value, 1})}})[0], one);
    };
    const auto x = g.template emit<Reshape>({.in = {c.in[0]}, .params = {ShapeParams::of(runs)}})[0];
    const auto sum = g.template emit<Reduce>(
        {.in = {binary(BinaryKind::mul, x, x)}, .params = ReduceParams::last_axis(ReduceKind::sum, runs.rank)})[0];
    const auto mean = binary(BinaryKind::div, sum, scalar(static_cast<float>(c.params.dim)));
    const auto shifted = binary(BinaryKind::add, mean, scalar(c.params.eps));
    const auto scale = g.template emit<ElementwiseUnary>({.in = {shifted}, .params = {UnaryKind::rsqrt}})[0];
    auto y = binary(BinaryKind::mul, x, spread(scale, runs));
    if (c.w[0].present()) {
      auto weight = spread(g.template emit<Constant>({.in = {}, .w = {c.w[0]}})[0], runs);
      if (c.params.weight_offset != 0.0f)
        weight = binary(BinaryKind::add, weight, spread(scalar(c.params.weight_offset), runs));
      y = binary(BinaryKind::mul, y, weight);
    }
    return Outputs<G, RmsNorm>{g.template emit<Reshape>({.in = {y}, .params = {ShapeParams::of(whole)}})[0]};
  }
};
static_assert(Op<RmsNorm> && HasReference<RmsNorm> && HasExpansion<RmsNorm>);

}  // namespace zrt::inline ZRT_ABI::ops
