// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/head_columns.hpp: some columns of every head, as an op of their own and around the projections of heads.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/ops/head_columns.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Records y[h] = x[h][first..first + count - 1], or with `gated`, which may be 0, gated times their sigmoids. Rows of y
/// are `y_dim` apart.
[[nodiscard]] inline Result<void> record_columns(Recorder& recorder, std::uint64_t x, std::uint64_t gated,
                                                 std::uint64_t y, const StepCount& heads,
                                                 const ops::HeadColumnsParams& p, std::uint32_t y_dim) noexcept {
  KernelCall call("head_columns");
  call.buffer(x).buffer(gated).buffer(y).value(p.head_dim).value(p.first).value(p.count).value(y_dim);
  return recorder.push(call.grid(StepCount(p.count).over(64), heads));
}

template <> struct Adapter<ops::HeadColumns> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::HeadColumns>& c) noexcept {
    return record_columns(recorder, c.in[0].address, c.in[1].address, c.out[0].address,
                          StepCount::rows(c.in[0].type.shape).times(c.params.heads), c.params, c.params.count);
  }
};
static_assert(RecordsDispatches<ops::HeadColumns>);

}  // namespace zrt::inline ZRT_ABI::device
