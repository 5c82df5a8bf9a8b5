// SPDX-License-Identifier: Apache-2.0
// zrt/plan/memory.hpp: where registers and scratch lie, by linear scan over live ranges.
#pragma once

#include <zrt/plan/compiled_plan.hpp>
#include <zrt/plan/validate.hpp>

namespace zrt::inline ZRT_ABI::plan {

/// One physical buffer within the arena.
struct PhysicalSpec {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint16_t align = 64;
};

/// Registers and scratch on physical buffers (runtime contract, PhysicalMapping).
struct PhysicalMapping {
  explicit PhysicalMapping(Allocator a = system_allocator()) noexcept
      : register_to_physical(a), scratch_to_physical(a), scratch_bytes(a), physical_specs(a) {}

  static constexpr std::uint16_t kNoScratch = 0xffff;

  Vector<std::uint16_t> register_to_physical;
  Vector<std::uint16_t> scratch_to_physical;  ///< per instruction, or kNoScratch
  Vector<std::uint64_t> scratch_bytes;        ///< per instruction
  Vector<PhysicalSpec> physical_specs;
  std::uint64_t arena_bytes = 0;

  [[nodiscard]] std::uint16_t physical_count() const noexcept {
    return static_cast<std::uint16_t>(physical_specs.size());
  }
  [[nodiscard]] const PhysicalSpec& of(RegisterRef r) const noexcept {
    return physical_specs[register_to_physical[index(r)]];
  }
};

/// Bytes of a register with the symbols at their bounds, or Errc::size_overflow.
[[nodiscard]] inline Result<std::uint64_t> register_bytes(const TensorType& type, const Extents& bounds) noexcept {
  const auto elements = type.shape.elements(bounds).get("a register");
  if (!elements) return elements;
  // Kernels count extents and rows in 32 bits.
  const CheckedSize rows = type.shape.with_last(1).elements(bounds);
  const Dim last = type.shape.last();
  const CheckedSize cols = CheckedSize(last.extent) * CheckedSize(last.symbol == 0 ? 1u : bounds.value[last.symbol]);
  if (!rows.ok() || !cols.ok() || rows.raw() > 0xffffffffu || cols.raw() > 0xffffffffu) {
    Error error = Error::of(Errc::size_overflow, "a register's rows or columns do not fit 32 bits: ");
    return std::unexpected<Error>(append_shape(error, type.shape));
  }
  const CheckedSize bytes = CheckedSize(*elements) * CheckedSize(info(type.dtype).block_bytes);
  if (!bytes.ok()) return bytes.get("a register");
  return bytes_of(type.dtype, *elements);
}

namespace detail {

/// Gives out buffers during the scan. A buffer is free, or held by one live register or scratch.
class BufferPool {
 public:
  explicit BufferPool(PhysicalMapping& mapping, Allocator allocator) noexcept : mapping_(mapping), free_(allocator) {}

  /// Takes the smallest free buffer that holds `bytes`, else grows the largest free one, else adds one.
  [[nodiscard]] Result<std::uint16_t> take(std::uint64_t bytes) noexcept {
    std::size_t best = free_.size();
    std::size_t largest = free_.size();
    for (std::size_t i = 0; i < free_.size(); ++i) {
      const std::uint64_t size = mapping_.physical_specs[free_[i]].size;
      if (size >= bytes && (best == free_.size() || size < mapping_.physical_specs[free_[best]].size)) best = i;
      if (largest == free_.size() || size > mapping_.physical_specs[free_[largest]].size) largest = i;
    }
    const std::size_t chosen = best != free_.size() ? best : largest;
    if (chosen == free_.size()) {
      if (mapping_.physical_specs.size() >= PhysicalMapping::kNoScratch)
        return fail(Errc::limit_exceeded, "the plan needs too many physical buffers");
      if (auto r = mapping_.physical_specs.push_back({0, bytes, 64}); !r) return pass(r);
      return static_cast<std::uint16_t>(mapping_.physical_specs.size() - 1);
    }
    const std::uint16_t buffer = free_[chosen];
    free_[chosen] = free_.back();
    free_.pop_back();
    PhysicalSpec& spec = mapping_.physical_specs[buffer];
    spec.size = spec.size > bytes ? spec.size : bytes;
    return buffer;
  }
  [[nodiscard]] Result<void> give_back(std::uint16_t buffer) noexcept { return free_.push_back(buffer); }

 private:
  PhysicalMapping& mapping_;
  Vector<std::uint16_t> free_;
};

}  // namespace detail

/// Plans aliases, in-place results and scratch in one pass.
///
/// `bounds` are the symbols' upper bounds; `scratch` the workspace bytes of each instruction. An
/// output takes over the buffer of an input that dies with the instruction where the op's may_alias
/// allows it and the sizes are equal; outputs and scratch never share with anything live.
[[nodiscard]] inline Result<PhysicalMapping> plan_memory(const ExecutionPlan& plan, const LivenessMap& live,
                                                         const OpTable& table, const Extents& bounds,
                                                         std::span<const std::uint64_t> scratch) noexcept {
  PhysicalMapping mapping(plan.allocator);
  detail::BufferPool pool(mapping, plan.allocator);
  Vector<std::uint64_t> bytes(plan.allocator);
  if (auto r = mapping.register_to_physical.resize(plan.registers.size()); !r) return pass(r);
  if (auto r = mapping.scratch_to_physical.resize(plan.instructions.size()); !r) return pass(r);
  if (auto r = mapping.scratch_bytes.append(scratch); !r) return pass(r);
  if (auto r = bytes.resize(plan.registers.size()); !r) return pass(r);
  for (std::size_t i = 0; i < plan.registers.size(); ++i) {
    auto size = register_bytes(plan.registers[i], bounds);
    if (!size) return pass(size);
    bytes[i] = *size;
  }
  auto place = [&](RegisterRef r) -> Result<void> {
    auto buffer = pool.take(bytes[index(r)]);
    if (!buffer) return pass(buffer);
    mapping.register_to_physical[index(r)] = *buffer;
    return {};
  };
  for (const PlanPort& port : plan.inputs)
    if (auto r = place(port.reg); !r) return pass(r);
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction insn = plan.instruction(i);
    const OpRow* row = table[number(insn.opcode)];
    const auto killed = live.kill_after_instruction(i);
    // Inputs whose buffer an output has taken over; they give nothing back.
    std::array<bool, kMaxOperands> taken{};
    for (std::size_t o = 0; o < insn.outputs.size(); ++o) {
      bool aliased = false;
      for (const Alias& alias : row->may_alias) {
        if (aliased || alias.output != o || taken[alias.input]) continue;
        const RegisterRef from = insn.inputs[alias.input];
        if (from == kNoRegister || bytes[index(from)] != bytes[index(insn.outputs[o])]) continue;
        if (live.register_last_read[index(from)] != i) continue;
        bool read_twice = false;
        for (std::size_t k = 0; k < insn.inputs.size(); ++k)
          read_twice = read_twice || (k != alias.input && insn.inputs[k] == from);
        if (read_twice) continue;
        mapping.register_to_physical[index(insn.outputs[o])] = mapping.register_to_physical[index(from)];
        taken[alias.input] = aliased = true;
      }
      if (aliased) continue;
      if (auto r = place(insn.outputs[o]); !r) return pass(r);
    }
    mapping.scratch_to_physical[i] = PhysicalMapping::kNoScratch;
    if (scratch[i] != 0) {
      auto buffer = pool.take(scratch[i]);
      if (!buffer) return pass(buffer);
      mapping.scratch_to_physical[i] = *buffer;
      if (auto r = pool.give_back(*buffer); !r) return pass(r);
    }
    for (RegisterRef dead : killed) {
      bool kept = false;
      for (std::size_t k = 0; k < insn.inputs.size(); ++k) kept = kept || (taken[k] && insn.inputs[k] == dead);
      if (kept) continue;
      if (auto r = pool.give_back(mapping.register_to_physical[index(dead)]); !r) return pass(r);
    }
  }
  CheckedSize arena = 0;
  for (PhysicalSpec& spec : mapping.physical_specs) {
    spec.offset = arena.raw();
    arena += CheckedSize(spec.size).aligned(64);
  }
  auto total = arena.get("the arena");
  if (!total) return pass(total);
  mapping.arena_bytes = *total;
  return mapping;
}

/// Proves that no two registers (or scratch) that live at the same time overlap, an in-place result
/// excepted, by comparing byte ranges, not buffer numbers. Believes nothing that the planner was told:
/// what lives when is found anew from the instructions.
///
/// Errors: Errc::overlapping_writers and Errc::invalid_plan naming registers and instruction.
[[nodiscard]] inline Result<void> check_memory(const ExecutionPlan& plan, const OpTable& table, const Extents& bounds,
                                               const PhysicalMapping& mapping) noexcept {
  const auto found = liveness(plan);
  if (!found) return pass(found);
  const LivenessMap& live = *found;
  struct Range {
    std::uint64_t begin, end;
  };
  auto range = [&](std::size_t reg) -> Range {
    const PhysicalSpec& spec = mapping.physical_specs[mapping.register_to_physical[reg]];
    const auto size = register_bytes(plan.registers[reg], bounds);
    return {spec.offset, spec.offset + (size ? *size : 0)};
  };
  auto overlap = [](Range a, Range b) { return a.begin < b.end && b.begin < a.end; };
  auto bad = [&](std::size_t i, std::size_t a, std::size_t b) {
    return std::unexpected<Error>(detail::at_insn(
        Error::of(Errc::overlapping_writers, "registers ", a, " and ", b, " share memory while both live"), i,
        plan.instructions[i].opcode));
  };
  if (mapping.register_to_physical.size() != plan.registers.size() ||
      mapping.scratch_to_physical.size() != plan.instructions.size() ||
      mapping.scratch_bytes.size() != plan.instructions.size())
    return fail(Errc::invalid_plan, "the mapping is not of this plan");
  for (std::size_t reg = 0; reg < plan.registers.size(); ++reg) {
    const std::uint16_t physical = mapping.register_to_physical[reg];
    if (physical >= mapping.physical_specs.size())
      return fail(Errc::invalid_plan, "register ", reg, " lies in no buffer");
    const PhysicalSpec& spec = mapping.physical_specs[physical];
    const auto bytes = register_bytes(plan.registers[reg], bounds);
    if (!bytes) return pass(bytes);
    if (*bytes > spec.size || spec.offset % spec.align != 0)
      return fail(Errc::invalid_plan, "register ", reg, " has ", *bytes, " bytes, its buffer ", spec.size,
                  " at offset ", spec.offset, ", a multiple of ", unsigned{spec.align}, " expected");
  }
  for (std::size_t i = 0; i < plan.instructions.size(); ++i)
    if (const std::uint16_t s = mapping.scratch_to_physical[i];
        s == PhysicalMapping::kNoScratch ? mapping.scratch_bytes[i] != 0 : s >= mapping.physical_specs.size())
      return fail(Errc::invalid_plan, "the scratch of instruction ", i, " lies in no buffer");
  Vector<std::uint16_t> alive(plan.allocator);
  for (const PlanPort& port : plan.inputs) {
    const Range mine = range(index(port.reg));
    if (mine.end > mapping.arena_bytes)
      return fail(Errc::invalid_plan, "input ", port.name.view(), " lies outside the arena");
    for (std::uint16_t other : alive)
      if (overlap(mine, range(other)))
        return fail(Errc::overlapping_writers, "inputs ", index(port.reg), " and ", other, " share memory");
    if (auto r = alive.push_back(index(port.reg)); !r) return r;
  }
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction insn = plan.instruction(i);
    const OpRow* row = table[number(insn.opcode)];
    for (std::size_t o = 0; o < insn.outputs.size(); ++o) {
      const std::uint16_t out = index(insn.outputs[o]);
      const Range mine = range(out);
      if (mine.end > mapping.arena_bytes)
        return std::unexpected<Error>(detail::at_insn(
            Error::of(Errc::invalid_plan, "register ", out, " lies outside the arena"), i, insn.opcode));
      for (std::size_t k = 0; k < o; ++k)
        if (overlap(mine, range(index(insn.outputs[k])))) return bad(i, out, index(insn.outputs[k]));
      for (std::uint16_t other : alive) {
        if (!overlap(mine, range(other))) continue;
        bool allowed = false;
        std::size_t reads = 0;
        for (RegisterRef r : insn.inputs) reads += r != kNoRegister && index(r) == other ? 1u : 0u;
        if (reads != 1) return bad(i, out, other);
        for (const Alias& alias : row->may_alias)
          allowed = allowed || (alias.output == o && index(insn.inputs[alias.input]) == other &&
                                live.register_last_read[other] == i && range(other).begin == mine.begin);
        if (!allowed) return bad(i, out, other);
      }
    }
    for (RegisterRef r : insn.outputs)
      if (auto done = alive.push_back(index(r)); !done) return done;
    if (mapping.scratch_to_physical[i] != PhysicalMapping::kNoScratch) {
      const PhysicalSpec& spec = mapping.physical_specs[mapping.scratch_to_physical[i]];
      if (spec.offset + mapping.scratch_bytes[i] > mapping.arena_bytes)
        return std::unexpected<Error>(
            detail::at_insn(Error::of(Errc::invalid_plan, "the scratch lies outside the arena"), i, insn.opcode));
      for (std::uint16_t other : alive)
        if (overlap({spec.offset, spec.offset + mapping.scratch_bytes[i]}, range(other))) return bad(i, other, other);
    }
    std::size_t kept = 0;
    for (std::uint16_t r : alive) {
      bool dies = false;
      for (RegisterRef dead : live.kill_after_instruction(i)) dies = dies || index(dead) == r;
      if (!dies) alive[kept++] = r;
    }
    while (alive.size() > kept) alive.pop_back();
  }
  return {};
}

}  // namespace zrt::inline ZRT_ABI::plan
