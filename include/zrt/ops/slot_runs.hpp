// SPDX-License-Identifier: Apache-2.0
// zrt/ops/slot_runs.hpp: the rows of a step, cut into the runs of its slots.
#pragma once

#include <zrt/ops/execution_context.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// Adjacent rows of one slot, in position order. Runs of different slots do not depend on each other.
struct SlotRun {
  std::uint32_t slot = 0;
  std::uint32_t first = 0;  ///< row in the batch
  std::uint32_t rows = 0;   ///< 0: there is none
};

/// Returns the run that begins at row `first` of the `rows` rows of a step. The one after `run` begins at
/// `run.first + run.rows`.
[[nodiscard]] inline SlotRun run_at(const ExecutionContext& step, std::uint32_t first, std::uint32_t rows) noexcept {
  if (first >= rows) return {};
  std::uint32_t last = first + 1;
  while (last < rows && step.slots[last] == step.slots[first]) ++last;
  return {step.slots[first], first, last - first};
}

}  // namespace zrt::inline ZRT_ABI
