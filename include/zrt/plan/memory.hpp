// SPDX-License-Identifier: Apache-2.0
// zrt/plan/memory.hpp: where registers and scratch lie in one arena.
#pragma once

#include <zrt/plan/check_memory.hpp>
#include <zrt/plan/placement.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// How memory is planned.
struct MemoryOptions {
  Fit fit = Fit::least;
  /// By register, not 0 where its bytes are somewhere else; empty for none. A view of such a register is there too.
  Span<const std::uint8_t> outside{};
  /// Keeps every register's memory to the end of the step, so that all values can be read behind it.
  bool keep_values = false;
};

namespace detail {

/// Gives each range of the arena one number, in the order of the ranges.
class RangeNumbers {
 public:
  RangeNumbers(PhysicalMapping& mapping, Allocator allocator) noexcept : mapping_(mapping), ranges_(allocator) {}

  /// Has `*number` set to that of bytes [offset, offset + size).
  [[nodiscard]] Result<void> add(std::uint64_t offset, std::uint64_t size, std::uint16_t* number) noexcept {
    return ranges_.push_back({offset, size, number});
  }
  /// Errors: Errc::limit_exceeded.
  [[nodiscard]] Result<void> assign() noexcept {
    heap_sort(ranges_.span(), [](const Range& a, const Range& b) noexcept {
      return a.offset != b.offset ? a.offset < b.offset : a.size < b.size;
    });
    Vector<PhysicalSpec>& specs = mapping_.physical_specs;
    for (const Range& range : ranges_) {
      if (specs.empty() || specs.back().offset != range.offset || specs.back().size != range.size) {
        if (specs.size() >= PhysicalMapping::kNoScratch)
          return fail(Errc::limit_exceeded, "the plan needs more than ", PhysicalMapping::kNoScratch,
                      " different ranges of the arena");
        if (auto r = specs.push_back({range.offset, range.size, kArenaAlign}); !r) return r;
      }
      *range.number = static_cast<std::uint16_t>(specs.size() - 1);
    }
    return {};
  }

 private:
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint16_t* number = nullptr;
  };

  PhysicalMapping& mapping_;
  Vector<Range> ranges_;
};

/// Appends what a register is: an input, or which result of which instruction; its type and shape.
inline void append_register(Error& error, const ExecutionPlan& plan, const OpTable& table, std::size_t reg) noexcept {
  error.append("register ").append(reg);
  for (const PlanPort& port : plan.inputs)
    if (index(port.reg) == reg) error.append(", input ").append(port.name.view());
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction insn = plan.instruction(i);
    const OpRow& row = *table[number(insn.opcode)];
    for (std::size_t o = 0; o < insn.outputs.size(); ++o) {
      if (index(insn.outputs[o]) != reg) continue;
      error.append(", result ").append(row.output(o).name).append(" of instruction ").append(i);
      error.append(" (").append(row.name).append(")");
      error.at_instruction(static_cast<std::uint32_t>(i), number(insn.opcode));
    }
  }
  error.append(", ").append(name(plan.registers[reg].dtype)).append(' ');
  append_shape(error, plan.registers[reg].shape);
  error.at_tensor(static_cast<std::uint32_t>(reg));
}

/// `found`, with the register that it is about.
[[nodiscard]] inline std::unexpected<Error> unsized(const ExecutionPlan& plan, const OpTable& table, std::size_t reg,
                                                    const Error& found) noexcept {
  Error error = Error::of(found.code());
  append_register(error, plan, table, reg);
  error.append(": ").append(found.text());
  return std::unexpected<Error>(error);
}

/// Returns the most blocks of registers that live at the same time. Scratch, whose items follow the registers, does not
/// count.
[[nodiscard]] inline Result<std::uint16_t> blocks_at_once(const Storage& storage, std::size_t registers,
                                                          std::size_t instructions, Allocator allocator) noexcept {
  Vector<std::int32_t> change(allocator);  // by the clock of LivePiece
  if (auto r = change.resize(instructions + 3); !r) return pass(r);
  Vector<std::uint8_t> counted(allocator);
  if (auto r = counted.resize(storage.blocks.size()); !r) return pass(r);
  for (std::size_t reg = 0; reg < registers; ++reg) {
    const std::uint32_t block = storage.block_of[reg];
    if (block == Storage::kNone || counted[block] != 0 || storage.blocks[block].pieces == Storage::kNone) continue;
    counted[block] = 1;
    std::uint32_t first = Storage::kNone;
    std::uint32_t last = 0;
    for (std::uint32_t p = storage.blocks[block].pieces; p != Storage::kNone; p = storage.pieces[p].next) {
      first = storage.pieces[p].first < first ? storage.pieces[p].first : first;
      last = storage.pieces[p].last > last ? storage.pieces[p].last : last;
    }
    ++change[first];
    --change[last + 1];
  }
  std::int32_t live = 0;
  std::int32_t most = 0;
  for (const std::int32_t c : change) {
    live += c;
    most = live > most ? live : most;
  }
  return static_cast<std::uint16_t>(most);
}

}  // namespace detail

/// Explains an arena that is too large: returns the error `found` with the largest item of the arena added, which is a
/// register for which `in_arena(i)` holds or the workspace of an instruction, of `scratch` bytes.
template <class InArena>
[[nodiscard]] Error too_large(const ExecutionPlan& plan, const OpTable& table, const Extents& bounds,
                              Span<const std::uint64_t> scratch, const InArena& in_arena, const Error& found) noexcept {
  std::size_t largest = 0;
  std::uint64_t most = 0;
  const auto meet = [&](std::size_t item, std::uint64_t bytes) {
    if (bytes <= most) return;
    most = bytes;
    largest = item;
  };
  for (std::size_t i = 0; i < plan.registers.size(); ++i)
    if (const auto bytes = register_bytes(plan.registers[i], bounds); bytes && in_arena(i)) meet(i, *bytes);
  for (std::size_t i = 0; i < scratch.size(); ++i) meet(plan.registers.size() + i, scratch[i]);
  if (most == 0) return found;
  Error error = Error::of(found.code(), found.text(), "; most of the arena is ", most, " bytes of ");
  if (largest < plan.registers.size()) {
    detail::append_register(error, plan, table, largest);
    return error;
  }
  const std::size_t i = largest - plan.registers.size();
  const Opcode opcode = plan.instruction(i).opcode;
  error.append("workspace of instruction ").append(i).append(" (").append(table[number(opcode)]->name).append(")");
  return error.at_instruction(static_cast<std::uint32_t>(i), number(opcode));
}

/// Plans one arena: eliminates views, reuses dying inputs in place, then packs the rest by lifetime.
///
/// - A view (the op's `view`) takes no memory.
/// - A result replaces an input in place if the input dies with the instruction, the op's may_alias allows it, the
///   sizes are equal, and no other register shares those bytes.
/// - Anything else shares no byte with a live register. Inputs live to their last read, outputs to the end, scratch for
///   one instruction.
/// - A register outside of the arena takes none of it and is never written over; `of` gives its views their place in
///   it.
///
/// With `keep_values` everything but scratch lives to the end.
///
/// `bounds` are the symbols' upper bounds, `scratch` the workspace bytes of each instruction.
///
/// Errors: Errc::size_overflow naming the register and the instruction or input that it is of, Errc::limit_exceeded,
/// out_of_memory.
[[nodiscard]] inline Result<PhysicalMapping> plan_memory(const ExecutionPlan& plan, const LivenessMap& live,
                                                         const OpTable& table, const Extents& bounds,
                                                         Span<const std::uint64_t> scratch,
                                                         const MemoryOptions& options = {}) noexcept {
  PhysicalMapping mapping(plan.allocator);
  Vector<std::uint64_t> bytes(plan.allocator);
  if (auto r = mapping.register_to_physical.resize(plan.registers.size()); !r) return pass(r);
  if (auto r = mapping.scratch_to_physical.resize(plan.instructions.size()); !r) return pass(r);
  if (auto r = mapping.scratch_bytes.append(scratch); !r) return pass(r);
  if (auto r = bytes.resize(plan.registers.size()); !r) return pass(r);
  for (std::size_t i = 0; i < plan.registers.size(); ++i) {
    auto size = register_bytes(plan.registers[i], bounds);
    if (!size) return detail::unsized(plan, table, i, size.error());
    bytes[i] = *size;
  }
  Result<LivenessMap> kept{LivenessMap(plan.allocator)};
  if (options.keep_values) kept = kept_to_the_end(live);
  if (!kept) return pass(kept);
  const LivenessMap& lives = options.keep_values ? *kept : live;
  auto storage = detail::Sharing(plan, lives, table, bytes.span(), options.outside).run(scratch);
  if (!storage) return pass(storage);
  auto placement = detail::place(*storage, options.fit, plan.allocator);
  if (!placement && placement.error().code() == Errc::size_overflow) {
    const auto in_arena = [&](std::size_t reg) { return options.outside.empty() || options.outside[reg] == 0; };
    return std::unexpected<Error>(too_large(plan, table, bounds, scratch, in_arena, placement.error()));
  }
  if (!placement) return pass(placement);
  mapping.arena_bytes = placement->arena_bytes;
  if (!options.outside.empty()) {
    if (auto r = mapping.outside.resize(bytes.size()); !r) return pass(r);
    for (std::size_t reg = 0; reg < bytes.size(); ++reg) {
      const std::uint32_t block = storage->block_of[reg];
      mapping.outside[reg] = block == detail::Storage::kNone ? kNoRegister : storage->blocks[block].outside;
    }
  }
  const auto at_once =
      detail::blocks_at_once(*storage, plan.registers.size(), plan.instructions.size(), plan.allocator);
  if (!at_once) return pass(at_once);
  mapping.physical_count = *at_once;

  auto offset = [&](std::size_t item) {
    const std::uint32_t block = storage->block_of[item];
    return block == detail::Storage::kNone ? 0 : placement->base[block] + storage->at[item];
  };
  detail::RangeNumbers numbers(mapping, plan.allocator);
  for (std::size_t reg = 0; reg < bytes.size(); ++reg)
    if (auto r = numbers.add(offset(reg), bytes[reg], &mapping.register_to_physical[reg]); !r) return pass(r);
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    mapping.scratch_to_physical[i] = PhysicalMapping::kNoScratch;
    if (scratch[i] == 0) continue;
    if (auto r = numbers.add(offset(bytes.size() + i), scratch[i], &mapping.scratch_to_physical[i]); !r) return pass(r);
  }
  if (auto r = numbers.assign(); !r) return pass(r);
  return mapping;
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
