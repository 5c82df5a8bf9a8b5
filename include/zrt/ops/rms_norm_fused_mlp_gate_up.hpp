// SPDX-License-Identifier: Apache-2.0
// zrt/ops/rms_norm_fused_mlp_gate_up.hpp: norm, gate and up projection, and the activation between them.
#pragma once

#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct RmsNormFusedMlpGateUpParams {
  RmsNormParams norm{};
  GatedActParams gated{};
  quant::Act act_gate = quant::Act::none;
  quant::Act act_up = quant::Act::none;
  std::uint8_t reserved = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&RmsNormFusedMlpGateUpParams::norm, "norm"},
                                            Member{&RmsNormFusedMlpGateUpParams::gated, "gated"},
                                            Member{&RmsNormFusedMlpGateUpParams::act_gate, "act_gate"},
                                            Member{&RmsNormFusedMlpGateUpParams::act_up, "act_up"},
                                            Member{&RmsNormFusedMlpGateUpParams::reserved, "reserved"});
};

/// n = rms_norm(x); h = act(gate n + gate_bias) · (up n + up_bias). Orders are those of its parts.
struct RmsNormFusedMlpGateUp {
  using Params = RmsNormFusedMlpGateUpParams;
  static constexpr Opcode opcode{34};
  static constexpr std::string_view name = "rms_norm_fused_mlp_gate_up";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"h"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"norm"}, Role{"gate"}, Role{"up"}, Role{"gate_bias", true}, Role{"up_bias", true}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto act_fields =
      std::to_array({ActField<Params>{1, &Params::act_gate}, ActField<Params>{2, &Params::act_up}});
  using expands_to = boost::mp11::mp_list<RmsNorm, Linear, GatedAct>;

  static constexpr Result<void> infer(const TypeCall<RmsNormFusedMlpGateUp>& c,
                                      OutputTypes<RmsNormFusedMlpGateUp>& out) noexcept {
    if (auto r = expect_input<RmsNormFusedMlpGateUp>(c.in[0], "x", DType::f32, 2); !r) return r;
    if (!c.w[0].present()) return fail(Errc::missing_weight, "rms_norm_fused_mlp_gate_up: weight norm is not bound");
    if (auto r = RmsNorm::check<RmsNormFusedMlpGateUp>(c.params.norm, c.in[0].type.shape, c.w[0]); !r) return r;
    OutputTypes<Linear> gate;
    OutputTypes<Linear> up;
    if (auto r = Linear::infer({c.in, {}, {c.w[1], c.w[3]}, {}, {c.params.act_gate, {}}}, gate); !r) return r;
    if (auto r = Linear::infer({c.in, {}, {c.w[2], c.w[4]}, {}, {c.params.act_up, {}}}, up); !r) return r;
    if (!(gate[0] == up[0])) return bad_shape<RmsNormFusedMlpGateUp>("up", "as many rows as gate", up[0].shape);
    if (static_cast<std::uint8_t>(c.params.gated.act) >= kActivations)
      return bad_params<RmsNormFusedMlpGateUp>("act is not known");
    out[0] = gate[0];
    return {};
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<RmsNormFusedMlpGateUp>& c, const Extents&) noexcept {
    const std::uint32_t cols = c.in[0].type.shape.last().extent;
    return CheckedSize(cols) * 4 + projection_scratch(cols);
  }

  static void reference(const HostCall<RmsNormFusedMlpGateUp>& c, const ExecutionContext& step,
                        const Worker& worker) noexcept {
    const std::uint32_t cols = c.in[0].cols(step);
    auto* normed = reinterpret_cast<float*>(worker.scratch.data());
    const auto scratch = worker.scratch.subspan(std::uint64_t{cols} * 4);
    for (std::uint32_t t = 0; t < c.in[0].rows(step); ++t) {
      const float* x = c.in[0].as<float>() + std::uint64_t{t} * cols;
      for (std::uint32_t i = 0; i < cols; i += c.params.norm.dim)
        RmsNorm::run(c.params.norm, x + i, c.w[0].f32(), normed + i);
      float* h = c.out[0].as<float>() + std::uint64_t{t} * c.w[1].rows;
      const ActivationRow gate = round_row(normed, cols, c.params.act_gate, scratch);
      for (std::uint32_t n = 0; n < c.w[1].rows; ++n) h[n] = biased(project(c.w[1], n, gate, scratch), c.w[3], n);
      const ActivationRow up = round_row(normed, cols, c.params.act_up, scratch);
      for (std::uint32_t n = 0; n < c.w[1].rows; ++n)
        h[n] = gated(c.params.gated.act, h[n], biased(project(c.w[2], n, up, scratch), c.w[4], n));
    }
  }

  template <class G>
  static constexpr Result<Outputs<G, RmsNormFusedMlpGateUp>> expand(G& g, const Call<G, RmsNormFusedMlpGateUp>& c) {
    const auto x = g.template emit<RmsNorm>({.in = c.in, .w = {c.w[0]}, .params = c.params.norm})[0];
    const auto gate = g.template emit<Linear>({.in = {x}, .w = {c.w[1], c.w[3]}, .params = {c.params.act_gate, {}}})[0];
    const auto up = g.template emit<Linear>({.in = {x}, .w = {c.w[2], c.w[4]}, .params = {c.params.act_up, {}}})[0];
    return Outputs<G, RmsNormFusedMlpGateUp>{
        g.template emit<GatedAct>({.in = {gate, up}, .params = c.params.gated})[0]};
  }
};
static_assert(Op<RmsNormFusedMlpGateUp> && HasReference<RmsNormFusedMlpGateUp> && HasExpansion<RmsNormFusedMlpGateUp>);

}  // namespace zrt::inline ZRT_ABI::ops
