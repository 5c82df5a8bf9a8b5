// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/shared_expert.hpp: shared_expert in one launch.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/ops/shared_expert.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::SharedExpert> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::SharedExpert>& c) noexcept {
    const Shape& x = c.in[0].type.shape;
    KernelCall call("shared_expert");
    call.buffer(c.in[0]).buffer(c.in[1]).buffer(c.in[2]).buffer(c.w[0]).buffer(c.out[0]);
    call.value(x.last().extent).value(c.out[0].type.shape.last().extent);
    return recorder.push(call.grid(StepCount::rows(x)));
  }
};
static_assert(RecordsDispatches<ops::SharedExpert>);

}  // namespace zrt::inline ZRT_ABI::device
