// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/layer_norm_runs.hpp: layer_norm_runs in one launch.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/ops/layer_norm_runs.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::LayerNormRuns> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::LayerNormRuns>& c) noexcept {
    KernelCall call("layer_norm_runs");
    call.buffer(c.in[0]).buffer(c.w[0]).buffer(c.w[1]).buffer(c.out[0]).value(c.params.dim).value(c.params.eps);
    return recorder.push(call.grid(StepCount::elements(c.in[0].type.shape).over(c.params.dim)));
  }
};
static_assert(RecordsDispatches<ops::LayerNormRuns>);

}  // namespace zrt::inline ZRT_ABI::device
