// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/adapters/choice.hpp: the most likely token of each row, and the token that a request asks for.
#pragma once

#include <zrt/backend/pm4/adapters/adapter.hpp>
#include <zrt/ops/greedy_token.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

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

/// The card takes the most likely token of every row; the host samples behind the fence for requests that ask for more.
/// So logits leave the card only for those, and of each other row the one that was taken.
template <> struct Adapter<ops::Sample> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::Sample>& c) noexcept {
    HostCall<ops::Sample> call;
    auto seen = [](const Tensor& tensor) { return HostTensor{host_pointer(tensor.address), tensor.type}; };
    fill(call.in, c.in, seen);
    fill(call.out, c.out, seen);
    if (auto r = recorder.sample(call); !r) return r;
    return record_argmax(recorder, c.in[0], c.out[0]);
  }
};
static_assert(RecordsDispatches<ops::Sample>);

}  // namespace zrt::inline ZRT_ABI::pm4
