// SPDX-License-Identifier: Apache-2.0
// zrt/exec/fused_steps.hpp: the step of a fused program that a fault of its run is about.
#pragma once

#include <zrt/exec/step_fault.hpp>
#include <zrt/ir/fused/cut_wire.hpp>

namespace zrt::inline ZRT_ABI::exec {

/// The error of a run without the number of an instruction; `cut` takes the step.
[[nodiscard]] inline Error at_step(Span<const std::size_t> steps, const Error& error,
                                   ir::fused::CutWire& cut) noexcept {
  if (error.phase() != Phase::step || error.instruction() >= steps.size()) return error;
  cut.step = steps[error.instruction()];
  const ir::ptir::OpInfo* op = ir::ptir::find_op(Opcode{error.opcode()});
  if (cut.step == ir::fused::CutWire::kNone || op == nullptr) return error;
  Error made = Error::of(error.code(), op->name, " ", fault_text(error.code()));
  return made.in_phase(Phase::step);
}

}  // namespace zrt::inline ZRT_ABI::exec
