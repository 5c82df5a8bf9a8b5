// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/rms_norm_fused_mlp_gate_up.hpp: norm, rounding, two products beside each other, activation.
#pragma once

#include <zrt/device/adapters/activation.hpp>
#include <zrt/device/adapters/normed_projection.hpp>
#include <zrt/ops/rms_norm_fused_mlp_gate_up.hpp>

namespace zrt::inline ZRT_ABI::device {

/// The gate's product goes to the output, where the activation meets it in place.
template <> struct Adapter<ops::RmsNormFusedMlpGateUp> {
  using O = ops::RmsNormFusedMlpGateUp;

  static CheckedSize scratch(const TypeCall<O>& c, const Extents& bounds) noexcept {
    const Shape& x = c.in[0].type.shape;
    return NormedRows::scratch(x, bounds, acts(c.params)) +
           Workspace::part(most_rows(x, bounds) * c.w[1].shape[0].extent * 4);
  }

  static Result<void> record(Recorder& recorder, const Call<Operands, O>& c) noexcept {
    Workspace workspace(recorder.scratch());
    NormedRows normed;
    if (auto r = normed.record(recorder, c.in[0], c.w[0], c.params.norm, acts(c.params), workspace); !r) return r;
    const std::uint64_t up = workspace.take(most_rows(c.in[0].type.shape, recorder.bounds().extents) * c.w[1].rows * 4);
    if (auto r = project(recorder, c.w[1], c.w[3], normed.rows(c.params.act_gate), c.out[0].address, false); !r)
      return r;
    if (auto r = project(recorder, c.w[2], c.w[4], normed.rows(c.params.act_up), up, true); !r) return r;
    return record_activation(recorder, c.out[0].address, up, c.out[0].address, c.params.gated.act,
                             StepCount::elements(c.out[0].type.shape));
  }

 private:
  static constexpr std::array<quant::Act, 2> acts(const O::Params& p) noexcept { return {p.act_gate, p.act_up}; }
};
static_assert(RecordsDispatches<ops::RmsNormFusedMlpGateUp> && HasScratch<ops::RmsNormFusedMlpGateUp>);

}  // namespace zrt::inline ZRT_ABI::device
