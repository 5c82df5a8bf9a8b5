// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/choice.hpp: the most likely token of each row, and the token that a request asks for.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/ops/greedy_token.hpp>

namespace zrt::inline ZRT_ABI::device {

[[nodiscard]] inline Result<void> record_argmax(Recorder& recorder, const Tensor& logits,
                                                const Tensor& token) noexcept {
  const Shape& shape = logits.type.shape;
  KernelCall call("argmax");
  call.buffer(logits).buffer(token).value(shape.last().extent);
  return recorder.push(call.grid(StepCount::rows(shape)));
}

template <> struct Adapter<ops::GreedyToken> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::GreedyToken>& c) noexcept {
    return record_argmax(recorder, c.in[0], c.out[0]);
  }
};
static_assert(RecordsDispatches<ops::GreedyToken>);

/// The device takes the most likely token of every row; when the step has ended, the host samples for requests that ask
/// for more. So logits leave the device only for those, and of each other row the one that was taken.
template <> struct Adapter<ops::Sample> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::Sample>& c) noexcept {
    if (auto r = recorder.sample({c, false}); !r) return r;
    return record_argmax(recorder, c.in[0], c.out[0]);
  }
};
static_assert(RecordsDispatches<ops::Sample>);

/// In place of Adapter<ops::Sample> for a device with the kernel `sample`: it takes the token of every row, and the host
/// looks at the logit that was taken. A row of logits leaves the device where somebody asks for it.
struct SampleByKernel {
  /// Of each row a copy of its logits, and the candidates' keys and ids.
  static constexpr CheckedSize scratch(const TypeCall<ops::Sample>& c, const Extents& bounds) noexcept {
    const Shape& logits = c.in[0].type.shape;
    return most_rows(logits, bounds) * logits.last().extent * 12;
  }
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::Sample>& c) noexcept {
    if (auto r = recorder.sample({c, true}); !r) return r;
    KernelCall call("sample");
    for (const Tensor& input : c.in) call.buffer(input);
    call.buffer(c.out[0]).buffer(recorder.scratch().address);
    for (const std::uint32_t i : {0u, 2u, 3u}) call.value(c.in[i].type.shape.last().extent);
    return recorder.push(call.grid(StepCount::rows(c.in[0].type.shape)));
  }
};

}  // namespace zrt::inline ZRT_ABI::device
