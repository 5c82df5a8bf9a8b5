// SPDX-License-Identifier: Apache-2.0
// zrt/exec/footprint.hpp: what an instruction reads and writes in the arena, from which fences follow.
#pragma once

#include <zrt/plan/memory.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// What one instruction reads and writes, as ranges of the arena and a state.
struct Footprint {
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool write = false;
  };
  std::array<Range, 2 * kMaxOperands + 1> ranges{};
  std::size_t count = 0;
  std::uint8_t state = plan::InstructionRecord::kNoState;

  void add(const plan::PhysicalSpec& spec, std::uint64_t bytes, bool write) noexcept {
    ranges[count++] = {spec.offset, spec.offset + bytes, write};
  }
  [[nodiscard]] bool conflicts(const Footprint& other) const noexcept {
    if (state != plan::InstructionRecord::kNoState && state == other.state) return true;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < other.count; ++k)
        if ((ranges[i].write || other.ranges[k].write) && ranges[i].begin < other.ranges[k].end &&
            other.ranges[k].begin < ranges[i].end)
          return true;
    return false;
  }
};

/// The footprint of instruction `i` of a plan.
[[nodiscard]] inline Footprint footprint(const plan::ExecutionPlan& plan, const plan::PhysicalMapping& mapping,
                                         std::size_t i) noexcept {
  const plan::Instruction insn = plan.instruction(i);
  Footprint f;
  // What lies outside of the arena is written by no instruction.
  const auto in_arena = [&mapping](plan::RegisterRef r) {
    return r != plan::kNoRegister && mapping.outside_of(r) == plan::kNoRegister;
  };
  for (plan::RegisterRef r : insn.inputs)
    if (in_arena(r)) f.add(mapping.of(r), mapping.of(r).size, false);
  for (plan::RegisterRef r : insn.outputs)
    if (in_arena(r)) f.add(mapping.of(r), mapping.of(r).size, true);
  if (const std::uint16_t s = mapping.scratch_to_physical[i]; s != plan::PhysicalMapping::kNoScratch)
    f.add(mapping.physical_specs[s], mapping.physical_specs[s].size, true);
  if (insn.state_block_id) f.state = *insn.state_block_id;
  return f;
}

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
