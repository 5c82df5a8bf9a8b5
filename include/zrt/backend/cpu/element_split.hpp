// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/element_split.hpp: a reference whose results depend on the same place of its operands, split over workers.
#pragma once

#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/op.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// Elements first..first+count-1 of a tensor as a vector; `first` is even, since two 4-bit elements share a byte.
[[nodiscard]] inline HostTensor elements_of(const HostTensor& x, std::uint64_t first, std::uint32_t count) noexcept {
  return {x.data + bytes_of(x.type.dtype, first), {x.type.dtype, Shape{count}}};
}

/// O's reference on this worker's share of the elements: for ops that compute each element alone, of
/// any types that the reference takes.
template <class O>
void run_elements(const HostCall<O>& call, const ExecutionContext& step, const Worker& worker) noexcept {
  // A vector's extent has 32 bits.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
  const Range part = split(call.out[0].elements(step), 64, worker);
  for (std::uint64_t first = part.first; first < part.last; first += kMost) {
    const auto count = static_cast<std::uint32_t>(part.last - first < kMost ? part.last - first : kMost);
    HostCall<O> some = call;
    for (HostTensor& x : some.in) x = elements_of(x, first, count);
    some.out[0] = elements_of(call.out[0], first, count);
    O::reference(some, step, worker);
  }
}

}  // namespace zrt::inline ZRT_ABI::cpu
