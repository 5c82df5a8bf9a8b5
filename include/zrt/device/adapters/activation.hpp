// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/activation.hpp: the activation of a gated block, as its own op and inside of others.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/ops/gated_act.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Records y = act(gate) * up for so many elements; y may be either, up may be 0.
[[nodiscard]] inline Result<void> record_activation(Recorder& recorder, std::uint64_t gate, std::uint64_t up,
                                                    std::uint64_t y, Activation act,
                                                    const StepCount& elements) noexcept {
  KernelCall call("gated_act");
  call.buffer(gate).buffer(up).buffer(y).value(elements).value(static_cast<std::uint32_t>(act));
  return recorder.push(call.grid(elements.over(256)));
}

}  // namespace zrt::inline ZRT_ABI::device
