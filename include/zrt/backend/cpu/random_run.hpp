// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/random_run.hpp: the random words of a run of elements, computed side by side.
#pragma once

#include <zrt/backend/cpu/split.hpp>
#include <zrt/backend/cpu/typed_runs.hpp>
#include <zrt/ops/random.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::cpu {

/// ops::random_words of kTypedRun elements: word i of element k is `word[i][k]`.
struct RandomRun {
  std::uint32_t word[4][kTypedRun];

  RandomRun(const ops::RandomParams& p, std::uint64_t first) noexcept {
    for (std::uint64_t k = 0; k < kTypedRun; ++k) put(k, ops::random_counter(p, first + k));
    std::array<std::uint32_t, 2> key = ops::random_key(p);
    for (int round = 0; round < kPhiloxRounds; ++round, key = philox_advance(key))
      for (std::uint64_t k = 0; k < kTypedRun; ++k)
        put(k, philox_round({word[0][k], word[1][k], word[2][k], word[3][k]}, key));
  }

 private:
  // Without a loop over the words, so that the loops over k become vectors.
  void put(std::uint64_t k, const std::array<std::uint32_t, 4>& words) noexcept {
    word[0][k] = words[0];
    word[1][k] = words[1];
    word[2][k] = words[2];
    word[3][k] = words[3];
  }
};

/// Writes `number(words, values)`, the numbers of a run, for the elements of this worker's share of the call's result.
/// `type` is of their type.
template <std::floating_point T, class O, class F>
void random_share(const HostCall<O>& c, const ElementFunctions<T>& type, const ExecutionContext& step,
                  const Worker& worker, F&& number) noexcept {
  const HostTensor& y = c.out[0];
  const ops::RandomParams p = ops::keyed(c);
  const Range part = split(y.elements(step), kTypedRun, worker);
  T values[kTypedRun];
  for (std::uint64_t first = part.first; first < part.last; first += kTypedRun) {
    const RandomRun words(p, first);
    number(words, values);
    type.pack(values, first, std::min(part.last - first, kTypedRun), y.data);
  }
}

}  // namespace zrt::inline ZRT_ABI::cpu
