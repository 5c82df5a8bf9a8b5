// SPDX-License-Identifier: Apache-2.0
// zrt/exec/counters.hpp: dispatch counts, derived from the plan instead of counted on the path.
#pragma once

#include <zrt/plan/execution_plan.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::exec {

/// Adapter calls per opcode (runtime contract, DispatchCounters).
struct DispatchCounters {
  std::array<std::uint64_t, 256> per_opcode{};
  std::uint64_t total_instructions = 0;

  /// Adds `steps` replays of `plan`.
  void add(const plan::ExecutionPlan& plan, std::uint64_t steps) noexcept {
    for (const plan::InstructionRecord& r : plan.instructions) per_opcode[number(r.opcode)] += steps;
    total_instructions += plan.instructions.size() * steps;
  }
};

}  // namespace zrt::inline ZRT_ABI::exec
