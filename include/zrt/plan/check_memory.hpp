// SPDX-License-Identifier: Apache-2.0
// zrt/plan/check_memory.hpp: the proof that planned memory holds every value for as long as it is needed.
#pragma once

#include <zrt/plan/alive_ranges.hpp>
#include <zrt/plan/liveness.hpp>
#include <zrt/plan/physical_mapping.hpp>
#include <zrt/plan/validate.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

namespace detail {

/// Walks a plan and tracks what is live. It trusts nothing that the planner computed.
class MemoryCheck {
 public:
  MemoryCheck(const ExecutionPlan& plan, const OpTable& table, const PhysicalMapping& mapping, const LivenessMap& live,
              Span<const std::uint8_t> outside) noexcept
      : plan_(plan), table_(table), mapping_(mapping), live_(live), outside_(outside), ranges_(plan.allocator) {}

  [[nodiscard]] Result<void> run(const Extents& bounds) noexcept {
    if (auto r = measure(bounds); !r) return r;
    for (const PlanPort& port : plan_.inputs) {
      if (ranges_.overlapping(ranges_[index(port.reg)]) != 0)
        return fail(Errc::overlapping_writers, "inputs ", index(port.reg), " and ",
                    first_alive(0, ranges_[index(port.reg)]), " share memory");
      ranges_.set_alive(index(port.reg), true);
    }
    for (const PlanPort& port : plan_.inputs)
      if (live_.register_last_read[index(port.reg)] == LivenessMap::kNeverRead)
        ranges_.set_alive(index(port.reg), false);
    for (std::size_t i = 0; i < plan_.instructions.size(); ++i)
      if (auto r = follow(i); !r) return r;
    return {};
  }

 private:
  /// Checks what instruction `i` writes, and what lives behind it.
  [[nodiscard]] Result<void> follow(std::size_t i) noexcept {
    const Instruction insn = plan_.instruction(i);
    const OpRow& row = *table_[number(insn.opcode)];
    // A view writes nothing, and what it shows was live and whole a moment ago.
    const bool view = is_view(plan_, insn, row, mapping_);
    for (RegisterRef r : insn.outputs)
      if (const RegisterRef in = mapping_.outside_of(r); in != kNoRegister && in != r && !view)
        return bad(i, Errc::overlapping_writers, "register ", index(r), " is written into the memory of register ",
                   index(in), " outside of the arena");
    if (!view)
      for (std::size_t o = 0; o < insn.outputs.size(); ++o)
        if (auto r = check_write(i, insn, row, o); !r) return r;
    for (RegisterRef r : insn.outputs) ranges_.set_alive(index(r), true);
    if (auto r = check_scratch(i); !r) return r;
    for (RegisterRef r : insn.inputs)
      if (r != kNoRegister && !lives_behind(i, r)) ranges_.set_alive(index(r), false);
    for (RegisterRef r : insn.outputs)
      if (!lives_behind(i, r)) ranges_.set_alive(index(r), false);
    return {};
  }
  [[nodiscard]] bool lives_behind(std::size_t i, RegisterRef r) const noexcept {
    const std::uint32_t read = live_.register_last_read[index(r)];
    return read != LivenessMap::kNeverRead && read > i;
  }
  [[nodiscard]] Result<void> check_scratch(std::size_t i) const noexcept {
    const std::uint16_t s = mapping_.scratch_to_physical[i];
    if (s == PhysicalMapping::kNoScratch) return {};
    const std::uint64_t begin = mapping_.physical_specs[s].offset;
    const ByteRange mine{begin, begin + mapping_.scratch_bytes[i]};
    if (ranges_.overlapping(mine) == 0) return {};
    return bad(i, Errc::overlapping_writers, "the scratch and register ", first_alive(i + 1, mine),
               " share memory while both live");
  }

  /// Calls `visit` for each register that was written before instruction `end` and lives, in the order of their births,
  /// until it returns true.
  template <class Visit> void each_alive(std::size_t end, Visit visit) const noexcept {
    const auto meet = [&](RegisterRef r) { return ranges_.is_alive(index(r)) && visit(index(r)); };
    for (const PlanPort& port : plan_.inputs)
      if (meet(port.reg)) return;
    for (std::size_t i = 0; i < end; ++i)
      for (RegisterRef r : plan_.instruction(i).outputs)
        if (meet(r)) return;
  }
  /// The register that shares bytes with `range`; one does.
  [[nodiscard]] std::uint16_t first_alive(std::size_t end, const ByteRange& range) const noexcept {
    std::uint16_t found = 0;
    each_alive(end, [&](std::uint16_t other) {
      found = other;
      return range.overlaps(ranges_[other]);
    });
    return found;
  }

  template <class... Pieces>
  [[nodiscard]] std::unexpected<Error> bad(std::size_t i, Errc code, const Pieces&... pieces) const noexcept {
    return std::unexpected<Error>(at_insn(Error::of(code, pieces...), i, plan_.instructions[i].opcode));
  }

  /// Finds the bytes of every register; all of them, and every scratch, lie in a range of the arena.
  [[nodiscard]] Result<void> measure(const Extents& bounds) noexcept {
    if (mapping_.register_to_physical.size() != plan_.registers.size() ||
        mapping_.scratch_to_physical.size() != plan_.instructions.size() ||
        mapping_.scratch_bytes.size() != plan_.instructions.size() ||
        (!mapping_.outside.empty() && mapping_.outside.size() != plan_.registers.size()))
      return fail(Errc::invalid_plan, "the mapping is not of this plan");
    for (std::size_t reg = 0; reg < plan_.registers.size(); ++reg) {
      if (mapping_.register_to_physical[reg] >= mapping_.physical_specs.size())
        return fail(Errc::invalid_plan, "register ", reg, " lies in no range of the arena");
      const PhysicalSpec& spec = mapping_.physical_specs[mapping_.register_to_physical[reg]];
      const auto bytes = register_bytes(plan_.registers[reg], bounds);
      if (!bytes) return pass(bytes);
      if (*bytes > spec.size || spec.align == 0 || spec.offset % spec.align != 0)
        return fail(Errc::invalid_plan, "register ", reg, " has ", *bytes, " bytes, its range ", spec.size,
                    " at offset ", spec.offset, ", a multiple of ", unsigned{spec.align}, " expected");
      if (const RegisterRef in = mapping_.outside_of(static_cast<RegisterRef>(reg)); in != kNoRegister) {
        if (auto r = measure_outside(reg, spec.offset, *bytes, in, bounds); !r) return r;
        // It shares no byte with anything of the arena.
        if (auto r = ranges_.append({}); !r) return r;
        continue;
      }
      if (!inside(spec.offset, *bytes))
        return fail(Errc::invalid_plan, "register ", reg, " lies outside the arena of ", mapping_.arena_bytes,
                    " bytes");
      if (auto r = ranges_.append({spec.offset, spec.offset + *bytes}); !r) return r;
    }
    if (auto r = ranges_.close(); !r) return r;
    for (std::size_t i = 0; i < plan_.instructions.size(); ++i) {
      const std::uint16_t s = mapping_.scratch_to_physical[i];
      if (s == PhysicalMapping::kNoScratch && mapping_.scratch_bytes[i] == 0) continue;
      if (s >= mapping_.physical_specs.size())
        return bad(i, Errc::invalid_plan, "the scratch of instruction ", i, " lies in no range of the arena");
      if (!inside(mapping_.physical_specs[s].offset, mapping_.scratch_bytes[i]))
        return bad(i, Errc::invalid_plan, "the scratch of instruction ", i, " lies outside the arena of ",
                   mapping_.arena_bytes, " bytes");
    }
    return {};
  }
  /// `reg` lies in the memory of `in`, which the caller placed outside of the arena.
  [[nodiscard]] Result<void> measure_outside(std::size_t reg, std::uint64_t offset, std::uint64_t bytes, RegisterRef in,
                                             const Extents& bounds) const noexcept {
    if (index(in) >= outside_.size() || index(in) >= plan_.registers.size() || outside_[index(in)] == 0)
      return fail(Errc::invalid_plan, "register ", reg, " lies in the memory of register ", index(in),
                  ", which lies in the arena");
    const auto room = register_bytes(plan_.registers[index(in)], bounds);
    if (!room) return pass(room);
    if (offset > *room || bytes > *room - offset || (index(in) == reg && offset != 0))
      return fail(Errc::invalid_plan, "register ", reg, " has ", bytes, " bytes at ", offset, ", register ", index(in),
                  ", in whose memory it lies, has ", *room);
    return {};
  }
  [[nodiscard]] bool inside(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return offset <= mapping_.arena_bytes && bytes <= mapping_.arena_bytes - offset;
  }

  /// Output `o` of instruction `i` is written over nothing that lives, one input in place excepted.
  [[nodiscard]] Result<void> check_write(std::size_t i, const Instruction& insn, const OpRow& row,
                                         std::size_t o) noexcept {
    const std::uint16_t out = index(insn.outputs[o]);
    const ByteRange& mine = ranges_[out];
    for (std::size_t k = 0; k < o; ++k)
      if (mine.overlaps(ranges_[index(insn.outputs[k])])) return shared(i, out, index(insn.outputs[k]));
    // Most results meet nothing, or the one input that they are written over.
    const std::int32_t met = ranges_.overlapping(mine);
    if (met == 0 || (met == 1 && is_over_input(i, insn, row, o))) return {};
    std::optional<std::uint16_t> other;
    bool in_place = false;
    each_alive(i, [&](std::uint16_t reg) {
      if (!mine.overlaps(ranges_[reg])) return false;
      if (in_place || !may_overwrite(i, insn, row, o, reg)) other = reg;
      in_place = true;
      return other.has_value();
    });
    return other ? shared(i, out, *other) : Result<void>();
  }
  [[nodiscard]] std::unexpected<Error> shared(std::size_t i, std::uint16_t one, std::uint16_t other) const noexcept {
    return bad(i, Errc::overlapping_writers, "registers ", one, " and ", other, " share memory while both live");
  }
  /// True when output `o` may be written over an input that lives.
  [[nodiscard]] bool is_over_input(std::size_t i, const Instruction& insn, const OpRow& row,
                                   std::size_t o) const noexcept {
    for (const Alias& alias : row.may_alias) {
      if (alias.output != o || insn.inputs[alias.input] == kNoRegister) continue;
      const std::uint16_t in = index(insn.inputs[alias.input]);
      if (ranges_.is_alive(in) && ranges_[in].overlaps(ranges_[index(insn.outputs[o])]) &&
          may_overwrite(i, insn, row, o, in))
        return true;
    }
    return false;
  }

  /// True when the op allows output `o` over the input that `other` is, in the same bytes, and nobody reads it again.
  [[nodiscard]] bool may_overwrite(std::size_t i, const Instruction& insn, const OpRow& row, std::size_t o,
                                   std::uint16_t other) const noexcept {
    const ByteRange& mine = ranges_[index(insn.outputs[o])];
    if (ranges_[other].begin != mine.begin || ranges_[other].end != mine.end) return false;
    if (live_.register_last_read[other] != i) return false;
    // Two inputs in the same memory are one input that is read twice.
    std::size_t reads = 0;
    for (RegisterRef r : insn.inputs) reads += r != kNoRegister && index(r) == other ? 1u : 0u;
    if (reads != 1) return false;
    for (const Alias& alias : row.may_alias)
      if (alias.output == o && insn.inputs[alias.input] != kNoRegister && index(insn.inputs[alias.input]) == other)
        return true;
    return false;
  }

  const ExecutionPlan& plan_;
  const OpTable& table_;
  const PhysicalMapping& mapping_;
  const LivenessMap& live_;
  Span<const std::uint8_t> outside_;
  AliveRanges ranges_;
};

}  // namespace detail

/// Proves that live registers and scratch never share a byte, by comparing byte ranges.
///
/// Two exceptions are allowed where the op allows them: a result in place of a dying input, and a view. Lifetimes are
/// computed anew from the instructions. Only registers that `outside` marks, as for plan_memory, and their views may
/// lie outside of the arena, and no other register may be written there. With `keep_values` every register
/// lives from its write to the end.
///
/// Errors: Errc::overlapping_writers and Errc::invalid_plan naming registers and instruction.
[[nodiscard]] inline Result<void> check_memory(const ExecutionPlan& plan, const OpTable& table, const Extents& bounds,
                                               const PhysicalMapping& mapping, Span<const std::uint8_t> outside = {},
                                               bool keep_values = false) noexcept {
  auto live = liveness(plan);
  if (live && keep_values) live = kept_to_the_end(*live);
  if (!live) return pass(live);
  return detail::MemoryCheck(plan, table, mapping, *live, outside).run(bounds);
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
