// SPDX-License-Identifier: Apache-2.0
// zrt/device/host_sampler.hpp: the rows of a sample op that the device's argmax does not answer, when a step has ended.
#pragma once

#include <zrt/core/rounding_mode.hpp>
#include <zrt/ops/sample.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Whether a request asks for nothing but the most likely token.
[[nodiscard]] constexpr bool is_plainly_greedy(const ops::SampleRequest& r) noexcept {
  const bool penalised =
      r.repetition_penalty != 1.0f || r.frequency_penalty != 0.0f || r.presence_penalty != 0.0f || r.biases != 0;
  return r.active != 0 && r.temperature <= 0.0f && !penalised;
}

/// Writes the tokens of all other rows, from logits that the host sees; rows with a plainly greedy request keep what the
/// argmax kernel wrote. Rows without a number are reported. `scratch` holds what Sample::reference_scratch asks for.
inline void sample_on_host(const HostCall<ops::Sample>& call, const ExecutionContext& step,
                           Span<std::byte> scratch) noexcept {
  const RoundingMode rounding;
  for (std::uint64_t row = 0; row < call.out[0].elements(step); ++row) {
    ops::SampleRequest request;
    std::memcpy(&request, call.in[1].data + row * sizeof request, sizeof request);
    if (is_plainly_greedy(request))
      ops::Sample::check_choice(call, step, row, Worker{});
    else
      ops::Sample::row(call, step, row, Worker{}, scratch);
  }
}

}  // namespace zrt::inline ZRT_ABI::device
