// SPDX-License-Identifier: Apache-2.0
// zrt/ops/moe_gate_up.hpp: gate and up projection of the chosen experts, and the activation between them.
#pragma once

#include <zrt/ops/experts.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/projection.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct MoeGateUpParams {
  GatedActParams gated{};
  std::uint8_t fused = 0;  ///< 1: `up` holds the rows of gate, then those of up, of each expert
  quant::Act act_gate = quant::Act::none;
  quant::Act act_up = quant::Act::none;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&MoeGateUpParams::gated, "gated"}, Member{&MoeGateUpParams::fused, "fused"},
                 Member{&MoeGateUpParams::act_gate, "act_gate"}, Member{&MoeGateUpParams::act_up, "act_up"});
};

/// h[t, j] = act(gate_e x[t] + gate_bias_e) · (up_e x[t] + up_bias_e) for each expert e = ids[t, j]; without a gate,
/// h = act(up_e x + up_bias_e).
///
/// x f32 [T, d], ids si32 [T, k] ascending in each row, weights [E, n, d], with `fused` up [E, 2n, d] -> f32 [T, k, n].
/// Rows of an id that does not count are 0, and a fault of the data. Sums are those of linear.
struct MoeGateUp {
  using Params = MoeGateUpParams;
  static constexpr Opcode opcode{40};
  static constexpr std::string_view name = "moe_gate_up";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"ids"}});
  static constexpr auto output_roles = std::to_array({Role{"h"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"gate", true}, Role{"up"}, Role{"gate_bias", true}, Role{"up_bias", true}});
  enum Weight : std::size_t { gate, up, gate_bias, up_bias };
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto act_fields =
      std::to_array({ActField<Params>{gate, &Params::act_gate}, ActField<Params>{up, &Params::act_up}});

  static constexpr Result<void> infer(const TypeCall<MoeGateUp>& c, OutputTypes<MoeGateUp>& out) noexcept {
    const Params& p = c.params;
    if (auto r = expect_rows<MoeGateUp>(c.in[0], "x"); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (auto r = expect_ids<MoeGateUp>(c.in[1], x[0]); !r) return r;
    const std::uint32_t experts = c.w[up].shape.rank == 0 ? 0 : c.w[up].shape[0].extent;
    if (auto r = expect_experts<MoeGateUp>(c.w[up], "up", experts, x[1].extent); !r) return r;
    std::uint32_t inner = c.w[up].shape[1].extent;
    if (p.fused != 0) {
      if (c.w[gate].present()) return bad_params<MoeGateUp>("fused says that up holds the gate, which is bound too");
      if (inner % 2 != 0) return bad_shape<MoeGateUp>("up", "as many rows of up as of gate", c.w[up].shape);
      inner /= 2;
    } else if (c.w[gate].present()) {
      if (auto r = expect_experts<MoeGateUp>(c.w[gate], "gate", experts, x[1].extent); !r) return r;
      if (c.w[gate].shape[1] != Dim(inner)) return bad_shape<MoeGateUp>("gate", "as many rows as up", c.w[gate].shape);
    } else if (c.w[gate_bias].present()) {
      return fail(Errc::missing_weight, "moe_gate_up: weight gate_bias is bound, gate is not");
    }
    if (auto r = expect_expert_vectors<MoeGateUp>(c.w[gate_bias], "gate_bias", experts, inner); !r) return r;
    if (auto r = expect_expert_vectors<MoeGateUp>(c.w[up_bias], "up_bias", experts, inner); !r) return r;
    if ((c.w[gate].present() ? !act_fits(c.w[gate].dtype, p.act_gate) : p.act_gate != quant::Act::none) ||
        !act_fits(c.w[up].dtype, p.act_up))
      return bad_params<MoeGateUp>("act does not fit the weight's type");
    if (static_cast<std::uint8_t>(p.gated.act) >= kActivations) return bad_params<MoeGateUp>("act is not known");
    out[0] = {DType::f32, Shape{x[0], c.in[1].type.shape[1], inner}};
    return {};
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<MoeGateUp>& c, const Extents&) noexcept {
    return projection_scratch(c.in[0].type.shape.last().extent);
  }

  static void reference(const HostCall<MoeGateUp>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Params& p = c.params;
    const std::uint32_t cols = c.in[0].cols(step);
    const std::uint32_t used = c.in[1].cols(step);
    const std::uint32_t inner = c.out[0].cols(step);
    const bool gated_block = p.fused != 0 || c.w[gate].present();
    const HostWeight& gates = p.fused != 0 ? c.w[up] : c.w[gate];
    const quant::Act gate_act = p.fused != 0 ? p.act_up : p.act_gate;
    // Rows of an expert in `up`, and where among them those of up begin.
    const std::uint64_t stride = p.fused != 0 ? 2u * inner : inner;
    const std::uint64_t above = stride - inner;
    const std::uint32_t experts = stride == 0 ? 0 : static_cast<std::uint32_t>(c.w[up].rows / stride);
    for (std::uint32_t t = 0; t < c.in[0].rows(step); ++t) {
      const float* x = c.in[0].as<float>() + std::uint64_t{t} * cols;
      const std::int32_t* ids = c.in[1].as<std::int32_t>() + std::uint64_t{t} * used;
      ChosenExperts chosen(experts);
      for (std::uint32_t j = 0; j < used; ++j) {
        float* h = c.out[0].as<float>() + (std::uint64_t{t} * used + j) * inner;
        if (!chosen.counts(ids[j])) {
          for (std::uint32_t n = 0; n < inner; ++n) h[n] = 0.0f;
          step.violated_row(worker, c.in[0].type.shape[0], t);
          continue;
        }
        const auto e = static_cast<std::uint64_t>(ids[j]);
        if (gated_block) {
          const ActivationRow row = round_row(x, cols, gate_act, worker.scratch);
          for (std::uint32_t n = 0; n < inner; ++n)
            h[n] = biased(project(gates, e * stride + n, row, worker.scratch), c.w[gate_bias], e * inner + n);
        }
        const ActivationRow row = round_row(x, cols, p.act_up, worker.scratch);
        for (std::uint32_t n = 0; n < inner; ++n) {
          const float u =
              biased(project(c.w[up], e * stride + above + n, row, worker.scratch), c.w[up_bias], e * inner + n);
          h[n] = gated_block ? gated(p.gated.act, h[n], u) : activate(p.gated.act, u);
        }
      }
    }
  }
};
static_assert(Op<MoeGateUp> && HasReference<MoeGateUp>);

}  // namespace zrt::inline ZRT_ABI::ops
