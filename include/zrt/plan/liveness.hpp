// SPDX-License-Identifier: Apache-2.0
// zrt/plan/liveness.hpp: when each register is last read, and how many live at once.
#pragma once

#include <zrt/plan/execution_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// Last reads and kill sets (runtime contract, LivenessMap). Kill sets are stored sparse.
struct LivenessMap {
  explicit LivenessMap(Allocator a = system_allocator()) noexcept
      : register_first_write(a), register_last_read(a), kill_offsets(a), kill_registers(a) {}

  static constexpr std::uint32_t kNeverRead = ~std::uint32_t{0};
  /// A plan output is read by the caller, after every instruction.
  static constexpr std::uint32_t kReadAfterEnd = kNeverRead - 1;

  Vector<std::uint32_t> register_first_write;  ///< instruction that writes it; 0 for inputs
  Vector<std::uint32_t> register_last_read;
  Vector<std::uint32_t> kill_offsets;  ///< instructions + 1 entries
  Vector<RegisterRef> kill_registers;

  /// Registers that die after instruction `i`: read for the last time, or written and never read.
  [[nodiscard]] Span<const RegisterRef> kill_after_instruction(std::size_t i) const noexcept {
    return kill_registers.span().subspan(kill_offsets[i], kill_offsets[i + 1] - kill_offsets[i]);
  }
  /// The contract's bitset form; `words` holds (registers + 63) / 64 words.
  void kill_bitset(std::size_t i, Span<std::uint64_t> words) const noexcept {
    for (std::uint64_t& word : words) word = 0;
    for (RegisterRef r : kill_after_instruction(i)) words[index(r) / 64u] |= std::uint64_t{1} << index(r) % 64u;
  }
};

/// Computes liveness of a plan whose references are in range.
[[nodiscard]] inline Result<LivenessMap> liveness(const ExecutionPlan& plan) noexcept {
  LivenessMap map(plan.allocator);
  const std::size_t count = plan.registers.size();
  if (auto r = map.register_first_write.resize(count); !r) return pass(r);
  if (auto r = map.register_last_read.resize(count); !r) return pass(r);
  if (auto r = map.kill_offsets.resize(plan.instructions.size() + 1); !r) return pass(r);
  for (std::uint32_t& read : map.register_last_read) read = LivenessMap::kNeverRead;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction insn = plan.instruction(i);
    for (RegisterRef r : insn.inputs)
      if (r != kNoRegister) map.register_last_read[index(r)] = static_cast<std::uint32_t>(i);
    for (RegisterRef r : insn.outputs) map.register_first_write[index(r)] = static_cast<std::uint32_t>(i);
  }
  for (const PlanPort& port : plan.outputs) map.register_last_read[index(port.reg)] = LivenessMap::kReadAfterEnd;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    map.kill_offsets[i] = static_cast<std::uint32_t>(map.kill_registers.size());
    const Instruction insn = plan.instruction(i);
    auto kill = [&](RegisterRef r) -> Result<void> {
      for (std::size_t k = map.kill_offsets[i]; k < map.kill_registers.size(); ++k)
        if (map.kill_registers[k] == r) return {};
      return map.kill_registers.push_back(r);
    };
    for (RegisterRef r : insn.inputs)
      if (r != kNoRegister && map.register_last_read[index(r)] == i)
        if (auto done = kill(r); !done) return pass(done);
    for (RegisterRef r : insn.outputs)
      if (map.register_last_read[index(r)] == LivenessMap::kNeverRead)
        if (auto done = kill(r); !done) return pass(done);
  }
  map.kill_offsets[plan.instructions.size()] = static_cast<std::uint32_t>(map.kill_registers.size());
  return map;
}

/// The largest number of registers that live at the same time.
[[nodiscard]] inline std::uint16_t peak_registers(const ExecutionPlan& plan, const LivenessMap& map) noexcept {
  std::size_t live = plan.inputs.size();
  std::size_t peak = live;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    live += plan.instructions[i].outputs;
    peak = live > peak ? live : peak;
    live -= map.kill_after_instruction(i).size();
  }
  return static_cast<std::uint16_t>(peak);
}

/// Lives of the same registers in which each is read after the end. Kill sets are left out.
[[nodiscard]] inline Result<LivenessMap> kept_to_the_end(const LivenessMap& live) noexcept {
  LivenessMap map(live.register_last_read.allocator());
  if (auto r = map.register_first_write.append(live.register_first_write.span()); !r) return pass(r);
  if (auto r = map.register_last_read.resize(live.register_last_read.size()); !r) return pass(r);
  for (std::uint32_t& last : map.register_last_read) last = LivenessMap::kReadAfterEnd;
  return map;
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
