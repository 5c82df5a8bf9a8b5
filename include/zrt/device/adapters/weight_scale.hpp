// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/weight_scale.hpp: weight_scale in one launch.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/ops/weight_scale.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::WeightScale> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::WeightScale>& c) noexcept {
    const StepCount elements = StepCount::elements(c.in[0].type.shape);
    KernelCall call("weight_scale");
    call.buffer(c.in[0]).buffer(c.w[0]).buffer(c.out[0]).value(elements);
    return recorder.push(call.grid(elements.over(256)));
  }
};
static_assert(RecordsDispatches<ops::WeightScale>);

}  // namespace zrt::inline ZRT_ABI::device
