// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/moe_down_acc.hpp: the second half of experts: rounding, a product, and the weighted sum.
#pragma once

#include <zrt/device/adapters/experts.hpp>
#include <zrt/ops/moe_down_acc.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::MoeDownAcc> {
  using O = ops::MoeDownAcc;

  static CheckedSize scratch(const TypeCall<O>& c, const Extents& bounds) noexcept {
    const Shape& h = c.in[0].type.shape;
    const CheckedSize pairs = most_rows(h, bounds);
    return ActivationRows::scratch(pairs, h.last().extent, c.params.act) +
           Workspace::part(pairs * c.w[0].shape[1].extent * 4);
  }

  static Result<void> record(Recorder& recorder, const Call<Operands, O>& c) noexcept {
    const Shape& h = c.in[0].type.shape;
    const std::uint32_t used = c.in[1].type.shape.last().extent, outputs = c.out[0].type.shape.last().extent;
    const std::uint32_t experts = outputs == 0 ? 0 : c.w[0].rows / outputs;
    const StepCount pairs = StepCount::rows(h);
    const CheckedSize most = most_rows(h, recorder.bounds().extents);
    Workspace workspace(recorder.scratch());
    const auto rows = round_rows(recorder, c.in[0].address, pairs, most, h.last().extent, c.params.act, workspace);
    if (!rows) return pass(rows);
    const std::uint64_t branch = workspace.take(most * outputs * 4);
    const ExpertProduct of{.rows = outputs,
                           .used = used,
                           .experts = experts,
                           .stride = outputs,
                           .first = 0,
                           .by_pair = true,
                           .y_stride = outputs};
    if (auto r = project_experts(recorder, c.w[0], c.w[1], c.in[1], *rows, pairs, of, branch, false); !r) return r;
    KernelCall call("expert_sum");
    call.buffer(branch).buffer(c.in[1]).buffer(c.in[2]).buffer(c.w[2]).buffer(c.in[3]).buffer(c.out[0]).fault();
    call.value(outputs).value(used).value(experts);
    return recorder.push(call.grid(StepCount(outputs).over(256), StepCount::rows(c.in[1].type.shape)));
  }
};
static_assert(RecordsDispatches<ops::MoeDownAcc> && HasScratch<ops::MoeDownAcc>);

}  // namespace zrt::inline ZRT_ABI::device
