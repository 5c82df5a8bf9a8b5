// SPDX-License-Identifier: Apache-2.0
// zrt/exec/counters.hpp: dispatch counts, derived from plan and record instead of counted on the path.
#pragma once

#include <zrt/plan/execution_plan.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::exec {

/// What steps have dispatched (runtime contract, DispatchCounters and the kernel launch counter).
struct DispatchCounters {
  std::array<std::uint64_t, 256> per_opcode{};
  std::uint64_t total_instructions = 0;
  std::uint64_t launches = 0;  ///< kernels, as recorded: an instruction may take several

  /// Adds `steps` replays of a program of `recorded` kernel launches, bound from `plan`.
  void add(const plan::ExecutionPlan& plan, std::uint64_t recorded, std::uint64_t steps) noexcept {
    for (const plan::InstructionRecord& r : plan.instructions) per_opcode[number(r.opcode)] += steps;
    total_instructions += plan.instructions.size() * steps;
    launches += recorded * steps;
  }
};

}  // namespace zrt::inline ZRT_ABI::exec
