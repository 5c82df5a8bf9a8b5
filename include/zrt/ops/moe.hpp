// SPDX-License-Identifier: Apache-2.0
// zrt/ops/moe.hpp: the block of a transformer layer whose feed-forward networks are experts.
#pragma once

#include <zrt/ops/linear.hpp>
#include <zrt/ops/moe_down_acc.hpp>
#include <zrt/ops/moe_gate_topk.hpp>
#include <zrt/ops/moe_gate_up.hpp>
#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/shared_expert.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

struct MoeParams {
  float norm_eps = 1e-5f;
  float norm_weight_offset = 0.0f;
  MoeGateTopkParams routing{};
  GatedActParams gated{};
  std::uint8_t fused = 0;  ///< 1: `up` holds the rows of gate, then those of up, of each expert
  std::array<std::uint8_t, 2> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&MoeParams::norm_eps, "norm_eps"}, Member{&MoeParams::norm_weight_offset, "norm_weight_offset"},
                 Member{&MoeParams::routing, "routing"}, Member{&MoeParams::gated, "gated"},
                 Member{&MoeParams::fused, "fused"}, Member{&MoeParams::reserved, "reserved"});
};

/// y = Σ weight_e · down_e (act(gate_e n) · up_e n) over the experts that the router chooses, with n = x, or its norm.
///
/// x f32 [T, d] -> f32 [T, d]. The router reads n, or `router_x` as it is. Then the shared expert adds its own
/// shared_down (act(shared_gate n) · shared_up n), times sigmoid(shared_router · n) where that vector is bound.
struct Moe {
  using Params = MoeParams;
  static constexpr Opcode opcode{3};
  static constexpr std::string_view name = "moe";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"router_x", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"norm", true}, Role{"router"}, Role{"router_bias", true}, Role{"selection_bias", true},
                     Role{"gate", true}, Role{"up"}, Role{"gate_bias", true}, Role{"up_bias", true}, Role{"down"},
                     Role{"down_bias", true}, Role{"down_scale", true}, Role{"shared_gate", true},
                     Role{"shared_up", true}, Role{"shared_down", true}, Role{"shared_router", true}});
  enum Weight : std::size_t {
    norm,
    router,
    router_bias,
    selection_bias,
    gate,
    up,
    gate_bias,
    up_bias,
    down,
    down_bias,
    down_scale,
    shared_gate,
    shared_up,
    shared_down,
    shared_router
  };
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to =
      boost::mp11::mp_list<RmsNorm, MoeGateTopk, MoeGateUp, MoeDownAcc, Linear, GatedAct, SharedExpert, ResidualAdd>;

  static constexpr Result<void> infer(const TypeCall<Moe>& c, OutputTypes<Moe>& out) noexcept {
    const Params& p = c.params;
    if (auto r = expect_rows<Moe>(c.in[0], "x"); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (auto r = expect_vector<Moe>(c.w[norm], "norm", x[1].extent, false); !r) return r;
    if (c.in[1].present() && !(c.in[1].type == c.in[0].type))
      return c.in[1].type.dtype != DType::f32 ? bad_dtype<Moe>("router_x", "f32", c.in[1].type.dtype)
                                              : bad_shape<Moe>("router_x", "the shape of x", c.in[1].type.shape);
    OutputTypes<MoeGateTopk> routed{};
    if (auto r = MoeGateTopk::infer(
            {{c.in[0]}, {}, {c.w[router], c.w[router_bias], c.w[selection_bias]}, {}, p.routing}, routed);
        !r)
      return r;
    OutputTypes<MoeGateUp> h{};
    if (auto r = MoeGateUp::infer({{c.in[0], {true, routed[0]}},
                                   {},
                                   {c.w[gate], c.w[up], c.w[gate_bias], c.w[up_bias]},
                                   {},
                                   {.gated = p.gated, .fused = p.fused}},
                                  h);
        !r)
      return r;
    if (c.w[up].shape[0] != c.w[router].shape[0])
      return bad_shape<Moe>("up", "an expert for each row of the router", c.w[up].shape);
    if (auto r = expect_experts<Moe>(c.w[down], "down", c.w[up].shape[0].extent, h[0].shape.last().extent); !r)
      return r;
    OutputTypes<MoeDownAcc> y{};
    if (auto r = MoeDownAcc::infer({{InputInfo{true, h[0]}, {true, routed[0]}, {true, routed[1]}, {}},
                                    {},
                                    {c.w[down], c.w[down_bias], c.w[down_scale]},
                                    {},
                                    {}},
                                   y);
        !r)
      return r;
    out[0] = y[0];
    return expect_shared(c, x[1].extent, out[0].shape[1].extent);
  }

  template <class G> static constexpr Result<Outputs<G, Moe>> expand(G& g, const Call<G, Moe>& c) {
    const Params& p = c.params;
    auto x = c.in[0];
    if (c.w[norm].present())
      x = g.template emit<RmsNorm>({.in = {x},
                                    .w = {c.w[norm]},
                                    .params = {p.norm_eps, p.norm_weight_offset, g.type_of(x).shape.last().extent}})[0];
    const auto routed = g.template emit<MoeGateTopk>({.in = {c.in[1].present() ? c.in[1] : x},
                                                      .w = {c.w[router], c.w[router_bias], c.w[selection_bias]},
                                                      .params = p.routing});
    const auto h = g.template emit<MoeGateUp>({.in = {x, routed[0]},
                                               .w = {c.w[gate], c.w[up], c.w[gate_bias], c.w[up_bias]},
                                               .params = {.gated = p.gated, .fused = p.fused}})[0];
    const auto sum = g.template emit<MoeDownAcc>(
        {.in = {h, routed[0], routed[1], {}}, .w = {c.w[down], c.w[down_bias], c.w[down_scale]}})[0];
    if (!c.w[shared_up].present()) return Outputs<G, Moe>{sum};
    const auto project = [&](auto from, Weight w) {
      return g.template emit<Linear>({.in = {from}, .w = {c.w[w], {}}})[0];
    };
    const auto above = project(x, shared_up);
    const auto inner = c.w[shared_gate].present()
                           ? g.template emit<GatedAct>({.in = {project(x, shared_gate), above}, .params = p.gated})[0]
                           : g.template emit<GatedAct>({.in = {above, {}}, .params = p.gated})[0];
    const auto branch = project(inner, shared_down);
    if (c.w[shared_router].present())
      return g.template emit<SharedExpert>({.in = {x, branch, sum}, .w = {c.w[shared_router]}});
    return g.template emit<ResidualAdd>({.in = {sum, branch}});
  }

 private:
  static constexpr Result<void> expect_shared(const TypeCall<Moe>& c, std::uint32_t width,
                                              std::uint32_t outputs) noexcept {
    if (!c.w[shared_up].present()) {
      for (const Weight part : {shared_gate, shared_down, shared_router})
        if (c.w[part].present())
          return fail(Errc::missing_weight, "moe: weight ", weight_roles[part].name, " is bound, shared_up is not");
      return {};
    }
    if (auto r = expect_matrix<Moe>(c.w[shared_up], "shared_up", width); !r) return r;
    const Dim inner = c.w[shared_up].shape[0];
    if (c.w[shared_gate].present()) {
      if (auto r = expect_matrix<Moe>(c.w[shared_gate], "shared_gate", width); !r) return r;
      if (c.w[shared_gate].shape[0] != inner)
        return bad_shape<Moe>("shared_gate", "as many rows as shared_up", c.w[shared_gate].shape);
    }
    if (auto r = expect_matrix<Moe>(c.w[shared_down], "shared_down", inner.extent); !r) return r;
    if (c.w[shared_down].shape[0] != Dim(outputs))
      return bad_shape<Moe>("shared_down", "as many rows as an expert's", c.w[shared_down].shape);
    return expect_vector<Moe>(c.w[shared_router], "shared_router", width, false);
  }
};
static_assert(Op<Moe> && !HasReference<Moe>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
