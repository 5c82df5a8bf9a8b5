// SPDX-License-Identifier: Apache-2.0
// zrt/ops/gated_delta_net.hpp: the mixer of a layer that keeps its memory by the gated delta rule.
#pragma once

#include <zrt/ops/linear.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/ssm_conv1d.hpp>
#include <zrt/ops/ssm_delta_net.hpp>
#include <zrt/ops/ssm_gated_norm.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

struct GatedDeltaNetParams {
  float norm_eps = 1e-6f;
  SsmConv1dParams conv{};
  SsmDeltaNetParams delta{};
  SsmGatedNormParams gated{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&GatedDeltaNetParams::norm_eps, "norm_eps"}, Member{&GatedDeltaNetParams::conv, "conv"},
                 Member{&GatedDeltaNetParams::delta, "delta"}, Member{&GatedDeltaNetParams::gated, "gated"});
};

/// y = W_out (gated_norm(delta(conv(W_qkv n), W_beta n, W_alpha n), W_z n)) with n = x, or its norm.
///
/// x f32 [T, d] -> f32 [T, d]. Without `alpha`, `beta` projects to both, as ssm_delta_net says. The state holds the
/// convolution's rows and the matrices of the heads, where their parameters say.
struct GatedDeltaNet {
  using Params = GatedDeltaNetParams;
  static constexpr Opcode opcode{9};
  static constexpr std::string_view name = "gated_delta_net";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"norm", true}, Role{"qkv"}, Role{"z"}, Role{"conv"}, Role{"conv_bias", true}, Role{"dt_bias"},
                     Role{"a"}, Role{"beta"}, Role{"alpha", true}, Role{"gated_norm"}, Role{"output"}});
  enum Weight : std::size_t { norm, qkv, z, conv, conv_bias, dt_bias, a, beta, alpha, gated_norm, output };
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::recurrent;
  using expands_to = boost::mp11::mp_list<RmsNorm, Linear, SsmConv1d, SsmDeltaNet, SsmGatedNorm>;

  static constexpr Result<void> infer(const TypeCall<GatedDeltaNet>& c, OutputTypes<GatedDeltaNet>& out) noexcept {
    using Self = GatedDeltaNet;
    const Params& p = c.params;
    if (auto r = expect_input<Self>(c.in[0], "x", DType::f32, 2); !r) return r;
    const Shape& in = c.in[0].type.shape;
    if (in.rank != 2 || in[1].symbol != 0) return bad_shape<Self>("x", "[tokens, width]", in);
    const std::uint32_t width = in[1].extent;
    if (!(p.norm_eps >= 0.0f)) return bad_params<Self>("norm_eps must not be negative");
    if (auto r = expect_vector<Self>(c.w[norm], "norm", width, false); !r) return r;
    const auto projected = [&](Weight role, InputInfo& to) -> Result<void> {
      if (auto r = expect_matrix<Self>(c.w[role], weight_roles[role].name, width); !r) return r;
      to = {true, {DType::f32, in.with_last(c.w[role].shape[0])}};
      return {};
    };
    InputInfo channels, gate, betas, alphas;
    if (auto r = projected(qkv, channels); !r) return r;
    if (auto r = projected(z, gate); !r) return r;
    if (auto r = projected(beta, betas); !r) return r;
    if (c.w[alpha].present())
      if (auto r = projected(alpha, alphas); !r) return r;
    OutputTypes<SsmConv1d> convolved;
    if (auto r = SsmConv1d::infer({{channels}, {}, {c.w[conv], c.w[conv_bias]}, c.state, p.conv}, convolved); !r)
      return r;
    OutputTypes<SsmDeltaNet> mixed;
    if (auto r = SsmDeltaNet::infer(
            {{InputInfo{true, convolved[0]}, betas, alphas}, {}, {c.w[a], c.w[dt_bias]}, c.state, p.delta}, mixed);
        !r)
      return r;
    OutputTypes<SsmGatedNorm> gated;
    if (auto r = SsmGatedNorm::infer({{InputInfo{true, mixed[0]}, gate}, {}, {c.w[gated_norm]}, {}, p.gated}, gated);
        !r)
      return r;
    if (auto r = expect_matrix<Self>(c.w[output], "output", mixed[0].shape[1].extent); !r) return r;
    if (c.w[output].shape[0] != in[1])
      return bad_shape<Self>("output", "as many rows as x has columns", c.w[output].shape);
    out[0] = c.in[0].type;
    return {};
  }

  template <class G> static constexpr Result<Outputs<G, GatedDeltaNet>> expand(G& g, const Call<G, GatedDeltaNet>& c) {
    using Tensor = typename G::Tensor;
    const Params& p = c.params;
    auto n = c.in[0];
    if (c.w[norm].present()) {
      const RmsNormParams norm_params{p.norm_eps, 0.0f, g.type_of(n).shape.last().extent};
      n = g.template emit<RmsNorm>({.in = {n}, .w = {c.w[norm]}, .params = norm_params})[0];
    }
    const auto linear = [&](Tensor from, auto weight) {
      return g.template emit<Linear>({.in = {from}, .w = {weight}})[0];
    };
    const auto channels = linear(n, c.w[qkv]);
    const auto gate = linear(n, c.w[z]);
    const auto betas = linear(n, c.w[beta]);
    Tensor alphas{};
    if (c.w[alpha].present()) alphas = linear(n, c.w[alpha]);
    const auto convolved = g.template emit<SsmConv1d>(
        {.in = {channels}, .w = {c.w[conv], c.w[conv_bias]}, .state = c.state, .params = p.conv})[0];
    const auto mixed = g.template emit<SsmDeltaNet>(
        {.in = {convolved, betas, alphas}, .w = {c.w[a], c.w[dt_bias]}, .state = c.state, .params = p.delta})[0];
    const auto gated =
        g.template emit<SsmGatedNorm>({.in = {mixed, gate}, .w = {c.w[gated_norm]}, .params = p.gated})[0];
    return g.template emit<Linear>({.in = {gated}, .w = {c.w[output]}});
  }
};
static_assert(Op<GatedDeltaNet> && !HasReference<GatedDeltaNet>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
