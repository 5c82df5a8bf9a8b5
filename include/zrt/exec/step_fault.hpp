// SPDX-License-Identifier: Apache-2.0
// zrt/exec/step_fault.hpp: what data did to a step, as an error.
#pragma once

#include <zrt/plan/execution_plan.hpp>

namespace zrt::inline ZRT_ABI::exec {

/// What data did to an instruction.
[[nodiscard]] constexpr std::string_view fault_text(Errc code) noexcept {
  return code == Errc::cancelled        ? "was stopped"
         : code == Errc::limit_exceeded ? "ran past its limit"
                                        : "met data outside its contract";
}

/// The fault that a word of a StepStatus tells of a step of `plan`, or none. Where the rows of its ops are given, the
/// op is named.
///
/// Errors: Errc::spec_violation, limit_exceeded or cancelled, with the instruction and its op.
[[nodiscard]] inline Result<void> fault_of(std::uint64_t word, const plan::ExecutionPlan& plan,
                                           const OpTable* rows) noexcept {
  if (word == StepStatus::kClean) return {};
  const auto code = static_cast<Errc>(word & 0xffffu);
  const auto instruction = static_cast<std::uint32_t>(word >> 32);
  const Opcode opcode = plan.instructions[instruction].opcode;
  const OpRow* row = rows == nullptr ? nullptr : (*rows)[number(opcode)];
  const std::string_view what = fault_text(code);
  Error error = row != nullptr
                    ? Error::of(code, "instruction ", instruction, " (", row->name, ") ", what)
                    : Error::of(code, "instruction ", instruction, " (opcode ", unsigned{number(opcode)}, ") ", what);
  return std::unexpected<Error>(error.in_phase(Phase::step).at_instruction(instruction, number(opcode)));
}

/// The first fault of a step of `plan` that no slot's word has; errors as those of fault_of.
[[nodiscard]] inline Result<void> step_fault(const StepStatus& status, const plan::ExecutionPlan& plan,
                                             const OpTable* rows = nullptr) noexcept {
  return fault_of(status.word.load(MemoryOrder::relaxed), plan, rows);
}

}  // namespace zrt::inline ZRT_ABI::exec
