// SPDX-License-Identifier: Apache-2.0
// zrt/plan/arena_layout.hpp: where a plan and its regions lie in one arena.
#pragma once

#include <zrt/ops/constant.hpp>
#include <zrt/plan/memory.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// A plan's memory with that of its regions.
struct ArenaLayout {
  explicit ArenaLayout(const Allocator& allocator) noexcept : mapping(allocator), regions(allocator) {}

  PhysicalMapping mapping;
  Vector<ArenaLayout> regions;  ///< in the order of the plan's
};

/// Bytes of the workspace of an op whose operands are these.
using ScratchFn = Result<std::uint64_t> (*)(const OperandInfo& operands) noexcept;
/// By opcode; null where an op wants no workspace.
using ScratchTable = std::array<ScratchFn, 256>;

/// Where the inputs of a plan lie; those of its regions lie in the arena.
enum class InputsLie : std::uint8_t { in_arena, with_caller };

/// Plans the memory of `plan`, whose extents are constants. The workspace of an instruction holds the arenas
/// of its regions one after the other, from multiples of kArenaAlign on. Constants take none of the arena: they are
/// read where the plan holds them.
///
/// Errors: those of plan_memory.
[[nodiscard]] inline Result<ArenaLayout> lay_out(const ExecutionPlan& plan, const OpTable& table,
                                                 const ScratchTable& scratch_of, InputsLie inputs) noexcept {
  ArenaLayout layout(plan.allocator);
  for (const ExecutionPlan& region : plan.regions) {
    auto inner = lay_out(region, table, scratch_of, InputsLie::in_arena);
    if (!inner) return inner;
    if (auto r = layout.regions.push_back(std::move(*inner)); !r) return pass(r);
  }
  Vector<std::uint64_t> scratch(plan.allocator);
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction insn = plan.instruction(i);
    CheckedSize bytes = 0;
    for (std::size_t k = 0; k < insn.regions; ++k)
      bytes = bytes.aligned(kArenaAlign) + layout.regions[insn.first_region + k].mapping.arena_bytes;
    if (const ScratchFn own = scratch_of[number(insn.opcode)]) {
      OperandStorage storage;
      const auto more = own(plan.operand_info(insn, storage));
      if (!more) return pass(more);
      bytes += *more;
    }
    const auto total = bytes.get("an instruction's workspace");
    if (!total) return pass(total);
    if (auto r = scratch.push_back(*total); !r) return pass(r);
  }
  const auto live = liveness(plan);
  if (!live) return pass(live);
  Vector<std::uint8_t> outside(plan.allocator);
  if (auto r = outside.resize(plan.registers.size()); !r) return pass(r);
  if (inputs == InputsLie::with_caller)
    for (const PlanPort& port : plan.inputs) outside[index(port.reg)] = 1;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i)
    if (const Instruction insn = plan.instruction(i); insn.opcode == ops::Constant::opcode)
      outside[index(insn.outputs[0])] = 1;
  auto mapping = plan_memory(plan, *live, table, {}, scratch.span(), {.fit = Fit::least, .outside = outside.span()});
  if (!mapping) return pass(mapping);
  layout.mapping = std::move(*mapping);
  return layout;
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
