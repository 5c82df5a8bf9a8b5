// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/norm.hpp: root-mean-square norms of rows, as their own op and in front of projections.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/ops/rms_norm.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Records y = rms_norm(x) over runs of params.dim among so many elements; y may be x, the weight absent.
[[nodiscard]] inline Result<void> record_norm(Recorder& recorder, std::uint64_t x, const Weight& weight,
                                              std::uint64_t y, const ops::RmsNormParams& params,
                                              const StepCount& elements) noexcept {
  KernelCall call("rms_norm");
  call.buffer(x).buffer(weight).buffer(y).value(params.dim).value(params.eps).value(params.weight_offset);
  return recorder.push(call.grid(elements.over(params.dim)));
}

}  // namespace zrt::inline ZRT_ABI::device
