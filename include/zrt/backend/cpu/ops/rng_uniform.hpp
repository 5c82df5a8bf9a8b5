// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/rng_uniform.hpp: random numbers in [0, 1).
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/random_run.hpp>
#include <zrt/ops/rng_uniform.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::RngUniform> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::RngUniform>& c) noexcept { return r.push(&numbers, c); }

 private:
  /// Elements are split.
  static void numbers(const HostCall<ops::RngUniform>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const DType dtype = c.params.dtype;
    if (dtype == DType::f64)
      return random_share(c, element_functions<double>(dtype), step, worker,
                          [](const RandomRun& words, double* values) {
                            for (std::uint64_t k = 0; k < kTypedRun; ++k)
                              values[k] = ops::RngUniform::number64(words.word[0][k], words.word[1][k]);
                          });
    const unsigned bits = ops::RngUniform::precision(dtype);
    random_share(c, element_functions<float>(dtype), step, worker, [&](const RandomRun& words, float* values) {
      for (std::uint64_t k = 0; k < kTypedRun; ++k) values[k] = ops::RngUniform::number32(words.word[0][k], bits);
    });
  }
};
static_assert(Records<ops::RngUniform>);

}  // namespace zrt::inline ZRT_ABI::cpu
