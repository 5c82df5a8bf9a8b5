// SPDX-License-Identifier: Apache-2.0
// examples/zrt/bench_rows.hpp: timed prefill and decode of an open model.
#pragma once

#include "model.hpp"

#include <vector>

namespace program {

/// Step times of one row of the benchmark, and what the steps did.
struct Timed {
  std::vector<double> seconds;   ///< of each step
  double tokens_per_step = 0.0;  ///< query tokens, all sequences together, on average
  double visible = 0.0;          ///< see StepShape, on average
  double cached = 0.0;
  double rows = 0.0;

  [[nodiscard]] double total() const;
  [[nodiscard]] double percentile(double share) const;
};

struct BenchLoad {
  std::uint32_t batch = 1;
  std::uint32_t tokens = 0;  ///< per sequence: of the prompt, or generated
  std::uint32_t depth = 0;   ///< for a decode: positions in the cache before it
  std::uint32_t repetitions = 1;
};

/// Reads `tokens` prompt tokens in each of `batch` sequences.
[[nodiscard]] zrt::Result<Timed> time_prefill(Model& model, const BenchLoad& load);
/// Generates `tokens` tokens in each of `batch` sequences; only pure decode steps count.
[[nodiscard]] zrt::Result<Timed> time_decode(Model& model, const BenchLoad& load);

}  // namespace program
