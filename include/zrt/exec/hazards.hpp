// SPDX-License-Identifier: Apache-2.0
// zrt/exec/hazards.hpp: which earlier instruction each one must wait for, from the bytes and states that they touch.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/plan/memory.hpp>

#include <algorithm>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

namespace detail {

/// The latest mark on each of a row of cells. Marks only grow. Marking a range and asking for one take logarithmic time.
class LatestMarks {
 public:
  explicit LatestMarks(Allocator a) noexcept : within_(a), over_(a) {}

  [[nodiscard]] Result<void> resize(std::size_t cells) noexcept {
    cells_ = cells;
    if (auto r = within_.resize(2 * cells); !r) return r;
    return over_.resize(2 * cells);
  }

  /// Marks the cells from `begin` up to `end`, at least one, with `mark`, the largest so far.
  void mark(std::size_t begin, std::size_t end, std::uint32_t mark) noexcept {
    each_node(begin, end, [&](std::size_t node) { over_[node] = within_[node] = mark; });
    for (const std::size_t cell : {begin, end - 1})
      for (std::size_t node = cells_ + cell; node > 0; node /= 2) within_[node] = mark;
  }
  /// The latest mark on a cell from `begin` up to `end`; 0 if there is none.
  [[nodiscard]] std::uint32_t latest(std::size_t begin, std::size_t end) const noexcept {
    std::uint32_t found = 0;
    each_node(begin, end, [&](std::size_t node) { found = std::max(found, within_[node]); });
    for (const std::size_t cell : {begin, end - 1})
      for (std::size_t node = cells_ + cell; node > 0; node /= 2) found = std::max(found, over_[node]);
    return found;
  }

 private:
  /// Visits the nodes of a binary tree over the cells that together are [begin, end).
  template <class Visit> void each_node(std::size_t begin, std::size_t end, Visit visit) const noexcept {
    for (begin += cells_, end += cells_; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 != 0) visit(begin++);
      if (end % 2 != 0) visit(--end);
    }
  }

  std::size_t cells_ = 0;
  Vector<std::uint32_t> within_;  ///< by node: the latest mark on any of its cells
  Vector<std::uint32_t> over_;    ///< by node: the latest mark on all of its cells together
};

}  // namespace detail

/// Follows the instructions of one plan in their order. Of an instruction it tells the latest earlier one that touches
/// the same bytes of the arena, where one of the two writes them, or the same state.
class Hazards {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit Hazards(Allocator a) noexcept : borders_(a), writes_(a), touches_(a) {}

  /// Begins a plan whose memory is `mapping`.
  ///
  /// Errors: out_of_memory.
  [[nodiscard]] Result<void> begin(const plan::PhysicalMapping& mapping) noexcept {
    for (const plan::PhysicalSpec& spec : mapping.physical_specs)
      for (const std::uint64_t border : {spec.offset, spec.offset + spec.size})
        if (auto r = borders_.push_back(border); !r) return r;
    heap_sort(borders_.span(), [](std::uint64_t a, std::uint64_t b) noexcept { return a < b; });
    const auto kept = static_cast<std::size_t>(std::unique(borders_.begin(), borders_.end()) - borders_.begin());
    while (borders_.size() > kept) borders_.pop_back();
    if (auto r = writes_.resize(borders_.size()); !r) return r;
    return touches_.resize(borders_.size());
  }

  /// Follows instruction `i`: the earlier instruction that it must wait for, or kNone.
  [[nodiscard]] std::uint32_t follow(const plan::ExecutionPlan& plan, const plan::PhysicalMapping& mapping,
                                     std::size_t i) noexcept {
    std::uint32_t latest = 0;
    const auto mark = static_cast<std::uint32_t>(i + 1);
    const plan::Instruction insn = plan.instruction(i);
    each_range(insn, mapping, i, [&](std::size_t begin, std::size_t end, bool write) {
      latest = std::max(latest, (write ? touches_ : writes_).latest(begin, end));
    });
    each_range(insn, mapping, i, [&](std::size_t begin, std::size_t end, bool write) {
      touches_.mark(begin, end, mark);
      if (write) writes_.mark(begin, end, mark);
    });
    if (insn.state_block_id) {
      latest = std::max(latest, states_[*insn.state_block_id]);
      states_[*insn.state_block_id] = mark;
    }
    return latest == 0 ? kNone : latest - 1;
  }

 private:
  [[nodiscard]] std::size_t cell(std::uint64_t border) const noexcept {
    return static_cast<std::size_t>(std::lower_bound(borders_.begin(), borders_.end(), border) - borders_.begin());
  }

  /// Visits what an instruction reads and writes in the arena, its workspace included.
  template <class Visit>
  void each_range(const plan::Instruction& insn, const plan::PhysicalMapping& mapping, std::size_t i,
                  Visit visit) const noexcept {
    const auto meet = [&](const plan::PhysicalSpec& spec, bool write) {
      if (spec.size != 0) visit(cell(spec.offset), cell(spec.offset + spec.size), write);
    };
    // What lies outside of the arena is written by no instruction.
    const auto in_arena = [&](plan::RegisterRef r) {
      return r != plan::kNoRegister && mapping.outside_of(r) == plan::kNoRegister;
    };
    for (plan::RegisterRef r : insn.inputs)
      if (in_arena(r)) meet(mapping.of(r), false);
    for (plan::RegisterRef r : insn.outputs)
      if (in_arena(r)) meet(mapping.of(r), true);
    if (const std::uint16_t s = mapping.scratch_to_physical[i]; s != plan::PhysicalMapping::kNoScratch)
      meet(mapping.physical_specs[s], true);
  }

  Vector<std::uint64_t> borders_;  ///< of the ranges, in order: cell c is the bytes from border c to the next
  detail::LatestMarks writes_;
  detail::LatestMarks touches_;
  std::array<std::uint32_t, plan::InstructionRecord::kNoState> states_{};  ///< by state: the latest mark
};

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
