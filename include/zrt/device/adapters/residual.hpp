// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/residual.hpp: the sum that closes a block, alone and with the norm that opens the next.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/ops/residual_rms_norm.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::ResidualAdd> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::ResidualAdd>& c) noexcept {
    const StepCount elements = StepCount::elements(c.in[0].type.shape);
    KernelCall call("residual_add");
    call.buffer(c.in[0]).buffer(c.in[1]).buffer(c.out[0]).value(elements).value(c.params.scale);
    return recorder.push(call.grid(elements.over(256)));
  }
};
static_assert(RecordsDispatches<ops::ResidualAdd>);

template <> struct Adapter<ops::ResidualRmsNorm> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::ResidualRmsNorm>& c) noexcept {
    const ops::RmsNormParams& norm = c.params.norm;
    KernelCall call("residual_rms_norm");
    call.buffer(c.in[0]).buffer(c.in[1]).buffer(c.w[0]).buffer(c.out[0]).buffer(c.out[1]);
    call.value(norm.dim).value(norm.eps).value(norm.weight_offset).value(c.params.add.scale);
    return recorder.push(call.grid(StepCount::elements(c.in[0].type.shape).over(norm.dim)));
  }
};
static_assert(RecordsDispatches<ops::ResidualRmsNorm>);

}  // namespace zrt::inline ZRT_ABI::device
