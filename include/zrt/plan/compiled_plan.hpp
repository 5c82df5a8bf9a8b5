// SPDX-License-Identifier: Apache-2.0
// zrt/plan/compiled_plan.hpp: a plan with its liveness and the compiler's diagnostics.
#pragma once

#include <zrt/core/finding.hpp>
#include <zrt/plan/liveness.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

enum class DiagnosticKind : std::uint8_t {
  expanded,    ///< an op stepped down the ladder into `count` others
  never_read,  ///< a register is written and never read
  rounding,    ///< activations of an instruction are rounded
};

/// A diagnostic of the plan compiler, kept as numbers (runtime contract, PlanDiagnostic); `finding` puts it in words.
struct PlanDiagnostic {
  Severity level = Severity::info;  ///< info or warning
  DiagnosticKind kind = DiagnosticKind::expanded;
  Opcode opcode{};
  std::uint32_t instruction = 0;  ///< index in the plan; for `expanded`, the node's place at that step of the ladder
  std::uint32_t count = 0;
  RegisterRef reg = kNoRegister;
};

/// A remark as a finding like any other, with its message.
[[nodiscard]] inline Finding finding(const PlanDiagnostic& d, const ExecutionPlan& plan,
                                     const OpTable& table) noexcept {
  const OpRow* row = table[number(d.opcode)];
  Finding out{d.level, Error(d.kind == DiagnosticKind::never_read ? Errc::invalid_plan : Errc::ok), {}};
  Error& error = out.error.in_phase(Phase::plan).at_instruction(d.instruction, number(d.opcode));
  error.append(row != nullptr ? row->name : "an op that is not in the catalog");
  switch (d.kind) {
    case DiagnosticKind::expanded:
      error.append(": the backend runs ").append(d.count).append(" others in its place");
      break;
    case DiagnosticKind::never_read:
      error.append(": register ").append(index(d.reg)).append(" ");
      if (index(d.reg) < plan.registers.size()) {
        out.type = plan.registers[index(d.reg)];
        append_shape(error, out.type.shape);
      }
      error.append(" is never read").at_tensor(index(d.reg));
      break;
    case DiagnosticKind::rounding:
      error.append(": activations are rounded as the weight's type has it");
      break;
  }
  return out;
}

/// The result of `compile` (runtime contract, CompiledPlan). Query tokens, slots and context length are symbols, so one
/// plan serves every batch.
struct CompiledPlan {
  explicit CompiledPlan(Allocator a = system_allocator()) noexcept : plan(a), liveness(a), diagnostics(a) {}

  ExecutionPlan plan;
  LivenessMap liveness;
  std::uint16_t peak_registers = 0;
  Validation validation = Validation::normal;
  Vector<PlanDiagnostic> diagnostics;
};

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
