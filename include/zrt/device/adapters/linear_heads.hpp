// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/linear_heads.hpp: a projection of each head as its columns, rounding, and a product with all matrices of a stack.
#pragma once

#include <zrt/device/adapters/experts.hpp>
#include <zrt/device/adapters/head_columns.hpp>
#include <zrt/ops/linear_heads.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::LinearHeads> {
  using O = ops::LinearHeads;

  static CheckedSize scratch(const TypeCall<O>& c, const Extents& bounds) noexcept {
    const std::uint32_t cols = c.w[0].shape.last().extent;
    const CheckedSize rows = most_rows(c.in[0].type.shape, bounds) * c.params.heads;
    return Workspace::part(rows * cols * 4) + ActivationRows::scratch(rows, cols, c.params.act);
  }

  static Result<void> record(Recorder& recorder, const Call<Operands, O>& c) noexcept {
    const O::Params& p = c.params;
    const std::uint32_t cols = c.w[0].cols, outputs = c.w[0].rows / p.heads, y_dim = p.pass + outputs;
    const StepCount heads = StepCount::rows(c.in[0].type.shape).times(p.heads);
    const CheckedSize most = most_rows(c.in[0].type.shape, recorder.bounds().extents) * p.heads;
    Workspace workspace(recorder.scratch());
    std::uint64_t x = c.in[0].address;
    if (p.pass != 0) {
      x = workspace.take(most * cols * 4);
      const ops::HeadColumnsParams head{p.heads, cols + p.pass, 0, cols};
      if (auto r = record_columns(recorder, c.in[0].address, 0, x, heads, head, cols); !r) return r;
      const ops::HeadColumnsParams rest{p.heads, cols + p.pass, cols, p.pass};
      if (auto r = record_columns(recorder, c.in[0].address, 0, c.out[0].address, heads, rest, y_dim); !r) return r;
    }
    const auto rows = round_rows(recorder, x, heads, most, cols, p.act, workspace);
    if (!rows) return pass(rows);
    const ExpertProduct of{.rows = outputs,
                           .used = p.heads,
                           .experts = p.heads,
                           .stride = outputs,
                           .first = 0,
                           .by_pair = true,
                           .y_stride = y_dim};
    return project_experts(recorder, c.w[0], {}, {}, *rows, heads, of, c.out[0].address + std::uint64_t{p.pass} * 4,
                           false);
  }
};
static_assert(RecordsDispatches<ops::LinearHeads> && HasScratch<ops::LinearHeads>);

}  // namespace zrt::inline ZRT_ABI::device
