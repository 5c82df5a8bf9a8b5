// SPDX-License-Identifier: Apache-2.0
// zrt/exec/fused_steps.hpp: the steps of a fused program that the instructions of its plan come from.
#pragma once

#include <zrt/ir/fused/instantiate.hpp>
#include <zrt/plan/execution_plan.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::exec {

/// The first step that is the op of this number, or CutWire::kNone.
[[nodiscard]] inline std::size_t first_step_of(const ir::fused::FusedProgram& program, std::uint8_t opcode) noexcept {
  for (std::size_t s = 0; s < program.steps.size() && opcode != 0; ++s)
    if (const auto* op = ir::fused::find_op(program.steps[s].op.view()); op != nullptr && number(op->opcode) == opcode)
      return s;
  return ir::fused::CutWire::kNone;
}

/// For each instruction of `plan` the index of its step, or CutWire::kNone where that is not known.
///
/// `plan` is compiled from `in_mode` in its order and without passes; `first_values` is what
/// ir::fused::instantiate gave with it. Instructions of one op then stand in the plan as in the program, the unneeded
/// apart. Of an op that is more often in the plan, for being what literals or others were lowered to, nothing is said.
[[nodiscard]] inline Result<Vector<std::size_t>> plan_steps(const ir::ptir::Program& in_mode,
                                                            Span<const ir::ptir::ValueId> first_values,
                                                            const plan::ExecutionPlan& plan,
                                                            const Allocator& allocator) noexcept {
  Vector<std::size_t> steps(allocator);
  if (auto r = steps.resize(plan.instructions.size()); !r) return pass(r);
  for (std::size_t& step : steps) step = ir::fused::CutWire::kNone;
  const auto needed = ir::fused::detail::needed_values(in_mode);
  if (!needed) return pass(needed);
  const auto instructions = in_mode.regions[0].instructions.span();
  const auto counts = [&](const ir::ptir::Instruction& i, Opcode opcode) {
    return i.opcode == opcode && (*needed)[i.id] != 0;
  };
  for (const ir::ptir::OpInfo& op : ir::ptir::kOps) {
    std::size_t in_program = 0;
    std::size_t in_plan = 0;
    for (const ir::ptir::Instruction& i : instructions) in_program += counts(i, op.opcode) ? 1u : 0u;
    for (const plan::InstructionRecord& i : plan.instructions) in_plan += i.opcode == op.opcode ? 1u : 0u;
    if (in_program != in_plan || in_plan == 0) continue;
    std::size_t at = 0;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (plan.instructions[k].opcode != op.opcode) continue;
      while (!counts(instructions[at], op.opcode)) ++at;
      const auto after = std::upper_bound(first_values.begin(), first_values.end(), instructions[at++].id);
      if (after != first_values.begin()) steps[k] = static_cast<std::size_t>(after - first_values.begin()) - 1;
    }
  }
  return steps;
}

}  // namespace zrt::inline ZRT_ABI::exec
