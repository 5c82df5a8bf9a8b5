// SPDX-License-Identifier: Apache-2.0
// zrt/ops/swiglu.hpp: the gated feed-forward block of a transformer layer.
#pragma once

#include <zrt/ops/linear.hpp>
#include <zrt/ops/rms_norm_fused_mlp_gate_up.hpp>

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

/// y = W_down (act(W_gate n) · W_up n) with n = x, or its norm; without `gate`, y = W_down act(W_up n).
struct Swiglu {
  using Params = SwigluParams;
  static constexpr Opcode opcode{2};
  static constexpr std::string_view name = "swiglu";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"norm", true}, Role{"gate", true}, Role{"up"}, Role{"down"}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<RmsNormFusedMlpGateUp, RmsNorm, Linear, GatedAct>;

  static constexpr Result<void> infer(const TypeCall<Swiglu>& c, OutputTypes<Swiglu>& out) noexcept {
    if (auto r = expect_input<Swiglu>(c.in[0], "x", DType::f32, 2); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (x.last().symbol != 0) return bad_shape<Swiglu>("x", "a constant last axis", x);
    if (auto r = expect_vector<Swiglu>(c.w[0], "norm", x.last().extent, false); !r) return r;
    if (auto r = expect_matrix<Swiglu>(c.w[2], "up", x.last().extent); !r) return r;
    if (c.w[1].present()) {
      if (auto r = expect_matrix<Swiglu>(c.w[1], "gate", x.last().extent); !r) return r;
      if (c.w[1].shape[0] != c.w[2].shape[0]) return bad_shape<Swiglu>("gate", "as many rows as up", c.w[1].shape);
    }
    if (auto r = expect_matrix<Swiglu>(c.w[3], "down", c.w[2].shape[0].extent); !r) return r;
    if (static_cast<std::uint8_t>(c.params.gated.act) >= kActivations) return bad_params<Swiglu>("act is not known");
    out[0] = {DType::f32, x.with_last(c.w[3].shape[0])};
    return {};
  }

  template <class G> static constexpr Result<Outputs<G, Swiglu>> expand(G& g, const Call<G, Swiglu>& c) {
    const Params& p = c.params;
    const RmsNormParams norm{p.norm_eps, p.norm_weight_offset, g.type_of(c.in[0]).shape.last().extent};
    typename G::Tensor h{};
    if (c.w[0].present() && c.w[1].present()) {
      h = g.template emit<RmsNormFusedMlpGateUp>(
          {.in = c.in, .w = {c.w[0], c.w[1], c.w[2]}, .params = {.norm = norm, .gated = p.gated}})[0];
    } else {
      auto x = c.in[0];
      if (c.w[0].present()) x = g.template emit<RmsNorm>({.in = {x}, .w = {c.w[0]}, .params = norm})[0];
      const auto up = g.template emit<Linear>({.in = {x}, .w = {c.w[2], {}}})[0];
      if (c.w[1].present()) {
        const auto gate = g.template emit<Linear>({.in = {x}, .w = {c.w[1], {}}})[0];
        h = g.template emit<GatedAct>({.in = {gate, up}, .params = p.gated})[0];
      } else {
        h = g.template emit<GatedAct>({.in = {up, {}}, .params = p.gated})[0];
      }
    }
    return g.template emit<Linear>({.in = {h}, .w = {c.w[3], {}}});
  }
};
static_assert(Op<Swiglu> && !HasReference<Swiglu>);

}  // namespace zrt::inline ZRT_ABI::ops
