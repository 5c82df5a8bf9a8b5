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
    if (auto r = recorder.sample(c); !r) return r;
    return record_argmax(recorder, c.in[0], c.out[0]);
  }
};
static_assert(RecordsDispatches<ops::Sample>);

}  // namespace zrt::inline ZRT_ABI::device
