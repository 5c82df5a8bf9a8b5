// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/rms_norm_fused_mlp_gate_up.hpp: norm and rounding, then both projections and their gate.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::RmsNormFusedMlpGateUp> {
  static constexpr Loops loops = Loops::vector;

  using Op = ops::RmsNormFusedMlpGateUp;

  /// Normed rows, and their rounded form where the plan rounds.
  static constexpr CheckedSize scratch(const TypeCall<Op>& c, const Extents& bounds) noexcept {
    const Shape& x = c.in[0].type.shape;
    const CheckedSize rows = row_count(x, bounds);
    const CheckedSize normed = normed_bytes(rows, x.last().extent);
    return rounded_forms<Op>(c.params).any() ? normed + rounded_bytes(rows, x.last().extent) : normed;
  }
  static Result<void> record(Recorder& r, const HostCall<Op>& c) noexcept {
    auto gate = r.projection(c.w[1], c.w[3], c.params.act_gate);
    if (!gate) return pass(gate);
    auto up = r.projection(c.w[2], c.w[4], c.params.act_up);
    if (!up) return pass(up);
    const NormRoundArgs first{c.in[0], c.w[0].f32(), c.params.norm, rounded_forms<Op>(c.params)};
    if (auto normed = r.push(r.kernels().norm_round_rows, first); !normed) return normed;
    return r.push(r.kernels().gate_up, GateUpArgs{c.in[0], c.out[0], *gate, *up, c.params.gated.act});
  }
};
static_assert(Records<ops::RmsNormFusedMlpGateUp>);

}  // namespace zrt::inline ZRT_ABI::cpu
