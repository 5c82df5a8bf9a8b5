// SPDX-License-Identifier: Apache-2.0
// zrt/plan/physical_mapping.hpp: which bytes of one arena each register and each scratch has.
#pragma once

#include <zrt/plan/execution_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// One range of the arena. Ranges overlap where what lies in them never lives at the same time, or
/// where one register is a view of another.
struct PhysicalSpec {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint16_t align = 64;
};

/// Every offset in an arena is a multiple of this; a view that would begin elsewhere is a copy.
inline constexpr std::uint64_t kArenaAlign = 64;

/// Registers and scratch in one arena (runtime contract, PhysicalMapping). Where a register lies is a range of bytes;
/// registers with the same range have the same number, and there may be more ranges than physical registers.
struct PhysicalMapping {
  explicit PhysicalMapping(Allocator a = system_allocator()) noexcept
      : register_to_physical(a), scratch_to_physical(a), scratch_bytes(a), physical_specs(a), outside(a) {}

  static constexpr std::uint16_t kNoScratch = 0xffff;

  Vector<std::uint16_t> register_to_physical;
  Vector<std::uint16_t> scratch_to_physical;  ///< per instruction, or kNoScratch
  Vector<std::uint64_t> scratch_bytes;        ///< per instruction
  Vector<PhysicalSpec> physical_specs;        ///< by offset, then by size
  Vector<RegisterRef> outside;                ///< see outside_of; empty where all registers lie in the arena
  std::uint64_t arena_bytes = 0;
  /// Buffers that would do in place of the arena, each for one register after the other with what shares its
  /// bytes: so many hold values at the same time. Never more than registers live at once (peak_registers).
  std::uint16_t physical_count = 0;

  [[nodiscard]] const PhysicalSpec& of(RegisterRef r) const noexcept {
    return physical_specs[register_to_physical[index(r)]];
  }
  /// The register that owns the memory of `r` outside the arena: `r` itself, or the register that `r` is a view of.
  /// `of(r)` is then a range of that register. kNoRegister if `r` lies in the arena.
  [[nodiscard]] RegisterRef outside_of(RegisterRef r) const noexcept {
    return outside.empty() ? kNoRegister : outside[index(r)];
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
  return bytes_of(type.dtype, CheckedSize(*elements)).get("a register");
}

/// The byte of its first input at which the result of `insn` already lies, where its op (`row`) says so and
/// an arena can place it there.
[[nodiscard]] inline std::optional<std::uint64_t> view_offset(const ExecutionPlan& plan, const Instruction& insn,
                                                              const OpRow& row) noexcept {
  if (row.view == nullptr) return std::nullopt;
  OperandStorage storage;
  const std::optional<std::uint64_t> offset = row.view(plan.operand_info(insn, storage));
  return offset && *offset % kArenaAlign == 0 ? offset : std::nullopt;
}

/// True where `insn` has nothing to do: its result is a view, and lies where its input has it.
[[nodiscard]] inline bool is_view(const ExecutionPlan& plan, const Instruction& insn, const OpRow& row,
                                  const PhysicalMapping& mapping) noexcept {
  if (row.view == nullptr || insn.inputs[0] == kNoRegister) return false;
  if (mapping.outside_of(insn.inputs[0]) != mapping.outside_of(insn.outputs[0])) return false;
  const PhysicalSpec& from = mapping.of(insn.inputs[0]);
  const PhysicalSpec& to = mapping.of(insn.outputs[0]);
  if (to.offset < from.offset || to.offset + to.size > from.offset + from.size) return false;
  return view_offset(plan, insn, row) == to.offset - from.offset;
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
