// SPDX-License-Identifier: Apache-2.0
// zrt/device/host_sampler.hpp: the rows of a sample op that no kernel answers, when a step has ended.
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

/// What the host looks at of a row's logits when a step has ended.
enum class RowUse : std::uint8_t { none, taken, all };

/// `by_kernel`: as RecordedSample::by_kernel.
[[nodiscard]] inline RowUse use_of(const HostCall<ops::Sample>& call, bool by_kernel, const ExecutionContext& step,
                                   const ops::SampleRequest& r) noexcept {
  if (r.active == 0 || ops::Sample::asks_too_much(call, step, r)) return RowUse::none;
  return by_kernel || is_plainly_greedy(r) ? RowUse::taken : RowUse::all;
}

/// Writes the tokens of the rows that no kernel has answered, from logits that the host sees, and takes back a kernel's
/// token that none may draw. Rows without a number, and those that ask for too much, are reported. `scratch` holds what
/// Sample::reference_scratch asks for, unless by_kernel. Returns whether it wrote a token.
inline bool sample_on_host(const HostCall<ops::Sample>& call, bool by_kernel, const ExecutionContext& step,
                           Span<std::byte> scratch) noexcept {
  const RoundingMode rounding;
  bool wrote = false;
  for (std::uint64_t row = 0; row < call.out[0].elements(step); ++row) {
    ops::SampleRequest request;
    std::memcpy(&request, call.in[1].data + row * sizeof request, sizeof request);
    if (use_of(call, by_kernel, step, request) == RowUse::taken) {
      const std::int32_t taken = call.out[0].as<std::int32_t>()[row];
      ops::Sample::check_choice(call, step, row, Worker{});
      wrote = wrote || call.out[0].as<std::int32_t>()[row] != taken;
    } else if (!by_kernel) {
      ops::Sample::row(call, step, row, Worker{}, scratch);
      wrote = true;
    } else if (request.active != 0) {
      step.violated_row(Worker{}, call.out[0].type.shape[0], row);
    }
  }
  return wrote;
}

}  // namespace zrt::inline ZRT_ABI::device
