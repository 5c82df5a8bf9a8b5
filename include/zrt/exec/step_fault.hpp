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

/// The first fault of a step of `plan`, or none. Where the rows of its ops are given, the op is named.
///
/// Errors: Errc::spec_violation, limit_exceeded or cancelled, with the instruction and its op.
[[nodiscard]] inline Result<void> step_fault(const StepStatus& status, const plan::ExecutionPlan& plan,
                                             const OpTable* rows = nullptr) noexcept {
  const std::uint64_t word = status.word.load(MemoryOrder::relaxed);
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

}  // namespace zrt::inline ZRT_ABI::exec
