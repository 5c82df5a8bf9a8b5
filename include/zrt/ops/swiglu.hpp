// SPDX-License-Identifier: Apache-2.0
// zrt/ops/swiglu.hpp: the gated feed-forward block of a transformer layer.
#pragma once

#include <zrt/ops/linear.hpp>
#include <zrt/ops/rms_norm_fused_mlp_gate_up.hpp>
#include <zrt/ops/shape_rule.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

struct SwigluParams {
  float norm_eps = 1e-5f;
  float norm_weight_offset = 0.0f;
  GatedActParams gated{};
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(
      Member{&SwigluParams::norm_eps, "norm_eps"}, Member{&SwigluParams::norm_weight_offset, "norm_weight_offset"},
      Member{&SwigluParams::gated, "gated"}, Member{&SwigluParams::reserved, "reserved"});
};

/// y = W_down (act(W_gate n) · W_up n) with n = x, or its norm; without `gate`, y = W_down act(W_up n). Each
/// projection adds its bias where it has one.
struct Swiglu {
  using Params = SwigluParams;
  static constexpr Opcode opcode{2};
  static constexpr std::string_view name = "swiglu";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"norm", true}, Role{"gate", true}, Role{"up"}, Role{"down"}, Role{"gate_bias", true},
                     Role{"up_bias", true}, Role{"down_bias", true}});
  enum Weight : std::size_t { norm, gate, up, down, gate_bias, up_bias, down_bias };
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<RmsNormFusedMlpGateUp, RmsNorm, Linear, GatedAct>;

  static constexpr Result<void> infer(const TypeCall<Swiglu>& c, OutputTypes<Swiglu>& out) noexcept {
    if (auto r = expect_input<Swiglu>(c.in[0], "x", DType::f32, 2); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (x.last().symbol != 0) return bad_shape<Swiglu>("x", "a constant last axis", x);
    if (auto r = expect_vector<Swiglu>(c.w[norm], "norm", x.last().extent, false); !r) return r;
    if (auto r = expect_matrix<Swiglu>(c.w[up], "up", x.last().extent); !r) return r;
    const Dim inner = c.w[up].shape[0];
    if (c.w[gate].present()) {
      if (auto r = expect_matrix<Swiglu>(c.w[gate], "gate", x.last().extent); !r) return r;
      if (c.w[gate].shape[0] != inner) return bad_shape<Swiglu>("gate", "as many rows as up", c.w[gate].shape);
    } else if (c.w[gate_bias].present()) {
      return fail(Errc::missing_weight, "swiglu: weight gate_bias is bound, gate is not");
    }
    if (auto r = expect_matrix<Swiglu>(c.w[down], "down", inner.extent); !r) return r;
    for (const Weight bias : {gate_bias, up_bias, down_bias}) {
      const std::uint32_t rows = bias == down_bias ? c.w[down].shape[0].extent : inner.extent;
      if (auto r = expect_vector<Swiglu>(c.w[bias], weight_roles[bias].name, rows, false); !r) return r;
    }
    if (static_cast<std::uint8_t>(c.params.gated.act) >= kActivations) return bad_params<Swiglu>("act is not known");
    out[0] = {DType::f32, x.with_last(c.w[down].shape[0])};
    return {};
  }

  template <class G> static constexpr Result<Outputs<G, Swiglu>> expand(G& g, const Call<G, Swiglu>& c) {
    const Params& p = c.params;
    const RmsNormParams norm_params{p.norm_eps, p.norm_weight_offset, g.type_of(c.in[0]).shape.last().extent};
    typename G::Tensor h{};
    if (c.w[norm].present() && c.w[gate].present()) {
      h = g.template emit<RmsNormFusedMlpGateUp>({.in = c.in,
                                                  .w = {c.w[norm], c.w[gate], c.w[up], c.w[gate_bias], c.w[up_bias]},
                                                  .params = {.norm = norm_params, .gated = p.gated}})[0];
    } else {
      auto x = c.in[0];
      if (c.w[norm].present()) x = g.template emit<RmsNorm>({.in = {x}, .w = {c.w[norm]}, .params = norm_params})[0];
      const auto above = g.template emit<Linear>({.in = {x}, .w = {c.w[up], c.w[up_bias]}})[0];
      if (c.w[gate].present()) {
        const auto gated = g.template emit<Linear>({.in = {x}, .w = {c.w[gate], c.w[gate_bias]}})[0];
        h = g.template emit<GatedAct>({.in = {gated, above}, .params = p.gated})[0];
      } else {
        h = g.template emit<GatedAct>({.in = {above, {}}, .params = p.gated})[0];
      }
    }
    return g.template emit<Linear>({.in = {h}, .w = {c.w[down], c.w[down_bias]}});
  }
};
static_assert(Op<Swiglu> && !HasReference<Swiglu>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
