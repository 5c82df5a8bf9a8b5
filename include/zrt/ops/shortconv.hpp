// SPDX-License-Identifier: Apache-2.0
// zrt/ops/shortconv.hpp: a gated short convolution as the block of a layer.
#pragma once

#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/rms_norm_fused_qkv.hpp>
#include <zrt/ops/ssm_conv1d.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

struct ShortconvParams {
  float norm_eps = 1e-5f;
  SsmConv1dParams conv{.act = Activation::none};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&ShortconvParams::norm_eps, "norm_eps"}, Member{&ShortconvParams::conv, "conv"});
};

/// y = W_out (W_c n · conv(W_b n · W_x n)) with n = x, or its norm.
///
/// x f32 [T, d] -> f32 [T, d]; b, c and x project to as many channels as the convolution has. The state is that of
/// ssm_conv1d. Source: the LFM2 family.
struct Shortconv {
  using Params = ShortconvParams;
  static constexpr Opcode opcode{5};
  static constexpr std::string_view name = "shortconv";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array(
      {Role{"norm", true}, Role{"b"}, Role{"c"}, Role{"x"}, Role{"conv"}, Role{"conv_bias", true}, Role{"output"}});
  enum Weight : std::size_t { norm, b, c, x, conv, conv_bias, output };
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::recurrent;
  using expands_to = boost::mp11::mp_list<RmsNormFusedQkv, Linear, GatedAct, SsmConv1d>;

  static constexpr Result<void> infer(const TypeCall<Shortconv>& call, OutputTypes<Shortconv>& out) noexcept {
    if (auto r = expect_input<Shortconv>(call.in[0], "x", DType::f32, 2); !r) return r;
    const Shape& in = call.in[0].type.shape;
    if (in.rank != 2 || in[1].symbol != 0) return bad_shape<Shortconv>("x", "[tokens, width]", in);
    if (!call.w[conv].present()) return fail(Errc::missing_weight, "shortconv: weight conv is not bound");
    if (!(call.params.norm_eps >= 0.0f)) return bad_params<Shortconv>("norm_eps must not be negative");
    if (auto r = expect_vector<Shortconv>(call.w[norm], "norm", in[1].extent, false); !r) return r;
    const Dim channels = call.w[conv].shape[0];
    for (const Weight role : {b, c, x}) {
      if (auto r = expect_matrix<Shortconv>(call.w[role], weight_roles[role].name, in[1].extent); !r) return r;
      if (call.w[role].shape[0] != channels)
        return bad_shape<Shortconv>(weight_roles[role].name, "a row per channel", call.w[role].shape);
    }
    TypeCall<SsmConv1d> inner{.in = {InputInfo{true, {DType::f32, in.with_last(channels)}}},
                              .w = {call.w[conv], call.w[conv_bias]},
                              .state = call.state,
                              .params = call.params.conv};
    OutputTypes<SsmConv1d> mixed;
    if (auto r = SsmConv1d::infer(inner, mixed); !r) return r;
    if (auto r = expect_matrix<Shortconv>(call.w[output], "output", channels.extent); !r) return r;
    if (call.w[output].shape[0] != in[1])
      return bad_shape<Shortconv>("output", "as many rows as x has columns", call.w[output].shape);
    out[0] = call.in[0].type;
    return {};
  }

  template <class G> static constexpr Result<Outputs<G, Shortconv>> expand(G& g, const Call<G, Shortconv>& call) {
    std::array<typename G::Tensor, 3> parts{};
    if (call.w[norm].present()) {
      const std::uint32_t width = g.type_of(call.in[0]).shape.last().extent;
      parts = g.template emit<RmsNormFusedQkv>({.in = call.in,
                                                .w = {call.w[norm], call.w[b], call.w[c], call.w[x]},
                                                .params = {.norm = {call.params.norm_eps, 0.0f, width}}});
    } else {
      for (std::size_t i = 0; i < 3; ++i) parts[i] = g.template emit<Linear>({.in = call.in, .w = {call.w[b + i]}})[0];
    }
    const auto product = [&](auto left, auto right) {
      return g.template emit<GatedAct>({.in = {left, right}, .params = {Activation::none}})[0];
    };
    const auto mixed = g.template emit<SsmConv1d>({.in = {product(parts[0], parts[2])},
                                                   .w = {call.w[conv], call.w[conv_bias]},
                                                   .state = call.state,
                                                   .params = call.params.conv})[0];
    return g.template emit<Linear>({.in = {product(parts[1], mixed)}, .w = {call.w[output]}});
  }
};
static_assert(Op<Shortconv> && !HasReference<Shortconv>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
