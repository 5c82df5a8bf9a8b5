// SPDX-License-Identifier: Apache-2.0
// zrt/plan/fused_origins.hpp: the step of a fused program that an error of its lowered form is about.
#pragma once

#include <zrt/ir/fused/instantiate.hpp>
#include <zrt/plan/program_origins.hpp>

#include <algorithm>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// A fused program in one mode, and what became of its steps.
struct FusedOrigins {
  explicit FusedOrigins(Allocator a = system_allocator()) noexcept : first_values(a), program(a), steps(a) {}

  Vector<ir::ptir::ValueId> first_values;  ///< what ir::fused::instantiate gave
  ProgramOrigins program;
  Vector<std::size_t> steps;  ///< by instruction of the plan: an index, or CutWire::kNone

  /// The step that an instruction of the main region is from.
  [[nodiscard]] std::size_t step_of(const ir::ptir::Program& in_mode, std::uint32_t instruction) const noexcept {
    const auto& all = in_mode.regions[0].instructions;
    if (instruction >= all.size()) return ir::fused::CutWire::kNone;
    const auto after = std::upper_bound(first_values.begin(), first_values.end(), all[instruction].id);
    return after == first_values.begin() ? ir::fused::CutWire::kNone
                                         : static_cast<std::size_t>(after - first_values.begin()) - 1;
  }
  /// Finds the steps of the plan's instructions, which `program` knows.
  [[nodiscard]] Result<void> follow(const ir::ptir::Program& in_mode) noexcept {
    steps.clear();
    for (const std::uint32_t instruction : program.instructions)
      if (auto r = steps.push_back(step_of(in_mode, instruction)); !r) return r;
    return {};
  }
};

/// The one step of the op of this number, or CutWire::kNone where there are none or several.
[[nodiscard]] inline std::size_t only_step_of(const ir::fused::FusedProgram& program, std::uint8_t opcode) noexcept {
  std::size_t found = ir::fused::CutWire::kNone;
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const auto* op = ir::fused::find_op(program.steps[s].op.view());
    if (op == nullptr || opcode == 0 || number(op->opcode) != opcode) continue;
    if (found != ir::fused::CutWire::kNone) return ir::fused::CutWire::kNone;
    found = s;
  }
  return found;
}

/// The error without the number of an instruction, which is one of the lowered program.
[[nodiscard]] inline Error without_instruction(const Error& error) noexcept {
  Error made = Error::of(error.code(), error.text());
  return made.in_phase(error.phase());
}

/// The error of making a runner for `in_mode` in terms of `program`; `cut` takes the step.
[[nodiscard]] inline Error at_step(const ir::fused::FusedProgram& program, const ir::ptir::Program& in_mode,
                                   const FusedOrigins& origins, const Error& error, ir::fused::CutWire& cut) noexcept {
  const std::size_t instructions = in_mode.regions[0].instructions.size();
  cut.step = origins.step_of(in_mode, origins.program.of_error(error, instructions));
  if (cut.step == ir::fused::CutWire::kNone) cut.step = only_step_of(program, error.opcode());
  const Error& cause = origins.program.nodes.cause;
  return without_instruction(cause.code() == Errc::ok ? error : cause);
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
