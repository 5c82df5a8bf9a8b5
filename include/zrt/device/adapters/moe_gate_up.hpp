// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/moe_gate_up.hpp: the first half of experts: rounding, two products beside each other, activation.
#pragma once

#include <zrt/device/adapters/activation.hpp>
#include <zrt/device/adapters/experts.hpp>
#include <zrt/ops/moe_gate_up.hpp>

namespace zrt::inline ZRT_ABI::device {

/// The gate's product goes to the output, where the activation meets it in place.
template <> struct Adapter<ops::MoeGateUp> {
  using O = ops::MoeGateUp;

  static CheckedSize scratch(const TypeCall<O>& c, const Extents& bounds) noexcept {
    const Shape& x = c.in[0].type.shape;
    const O::Params& p = c.params;
    const CheckedSize rows = most_rows(x, bounds);
    CheckedSize bytes = ActivationRows::scratch(rows, x.last().extent, p.act_up);
    if (rounds_twice(p, c.w[O::gate].present())) bytes += ActivationRows::scratch(rows, x.last().extent, p.act_gate);
    return bytes + Workspace::part(rows * c.in[1].type.shape.last().extent * c.w[O::up].shape[1].extent * 4);
  }

  static Result<void> record(Recorder& recorder, const Call<Operands, O>& c) noexcept {
    const O::Params& p = c.params;
    const Shape& x = c.in[0].type.shape;
    const bool fused = p.fused != 0, gated = fused || c.w[O::gate].present();
    const std::uint32_t used = c.in[1].type.shape.last().extent, inner = c.out[0].type.shape.last().extent;
    const StepCount pairs = StepCount::elements(c.in[1].type.shape);
    const CheckedSize most = most_rows(x, recorder.bounds().extents);
    Workspace workspace(recorder.scratch());
    const auto round = [&](quant::Act act) {
      return round_rows(recorder, c.in[0].address, StepCount::rows(x), most, x.last().extent, act, workspace);
    };
    const auto for_up = round(p.act_up);
    if (!for_up) return pass(for_up);
    auto for_gate = *for_up;
    if (rounds_twice(p, c.w[O::gate].present())) {
      const auto rows = round(p.act_gate);
      if (!rows) return pass(rows);
      for_gate = *rows;
    }
    const std::uint64_t h = c.out[0].address, up = gated ? workspace.take(most * used * inner * 4) : h;
    const std::uint32_t stride = fused ? 2 * inner : inner;
    ExpertProduct of{.rows = inner,
                     .used = used,
                     .experts = stride == 0 ? 0 : c.w[O::up].rows / stride,
                     .stride = stride,
                     .first = 0,
                     .by_pair = false,
                     .y_stride = inner};
    if (gated)
      if (auto r = project_experts(recorder, fused ? c.w[O::up] : c.w[O::gate], c.w[O::gate_bias], c.in[1], for_gate,
                                   pairs, of, h, false);
          !r)
        return r;
    of.first = stride - inner;
    if (auto r = project_experts(recorder, c.w[O::up], c.w[O::up_bias], c.in[1], *for_up, pairs, of, up, gated); !r)
      return r;
    return record_activation(recorder, h, gated ? up : 0, h, p.gated.act, StepCount::elements(c.out[0].type.shape));
  }

 private:
  static constexpr bool rounds_twice(const O::Params& p, bool has_gate) noexcept {
    return has_gate && p.act_gate != p.act_up;
  }
};
static_assert(RecordsDispatches<ops::MoeGateUp> && HasScratch<ops::MoeGateUp>);

}  // namespace zrt::inline ZRT_ABI::device
