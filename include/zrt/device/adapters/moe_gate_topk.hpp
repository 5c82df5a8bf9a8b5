// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/moe_gate_topk.hpp: the router as rounding, a product, and the choice.
#pragma once

#include <zrt/device/adapters/projection.hpp>
#include <zrt/ops/moe_gate_topk.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::MoeGateTopk> {
  using O = ops::MoeGateTopk;

  static CheckedSize scratch(const TypeCall<O>& c, const Extents& bounds) noexcept {
    const Shape& x = c.in[0].type.shape;
    const CheckedSize rows = most_rows(x, bounds);
    return ActivationRows::scratch(rows, x.last().extent, c.params.act) +
           Workspace::part(rows * c.w[0].shape[0].extent * 4);
  }

  static Result<void> record(Recorder& recorder, const Call<Operands, O>& c) noexcept {
    const O::Params& p = c.params;
    const Shape& x = c.in[0].type.shape;
    const CheckedSize most = most_rows(x, recorder.bounds().extents);
    Workspace workspace(recorder.scratch());
    const auto rows =
        round_rows(recorder, c.in[0].address, StepCount::rows(x), most, x.last().extent, p.act, workspace);
    if (!rows) return pass(rows);
    const std::uint64_t logits = workspace.take(most * c.w[0].rows * 4);
    if (auto r = project(recorder, c.w[0], c.w[1], *rows, logits, false); !r) return r;
    KernelCall call("moe_route");
    call.buffer(logits).buffer(c.w[2]).buffer(c.out[0]).buffer(c.out[1]).value(c.w[0].rows).value(p.used);
    call.value(p.groups).value(p.groups_used).value(p.scale).value(static_cast<std::uint32_t>(p.gating));
    call.value(std::uint32_t{p.normalise});
    return recorder.push(call.grid(StepCount::rows(x)));
  }
};
static_assert(RecordsDispatches<ops::MoeGateTopk> && HasScratch<ops::MoeGateTopk>);

}  // namespace zrt::inline ZRT_ABI::device
