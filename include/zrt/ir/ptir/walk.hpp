// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/walk.hpp: every instruction that a program may run, in an order that is always the same.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/ir/ptir/program.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// Where a walk stands.
struct ProgramPlace {
  RegionId region = 0;
  std::uint32_t depth = 0;  ///< of the first call that reaches the region; the program itself is 0
  std::uint32_t index = 0;  ///< in its region
  const Instruction& instruction;
};

/// Calls `visit(place)` for every instruction that the program reaches: a region's in their order, then
/// those of the regions that it names, in the order of their first mention, each region once. Ends early
/// when `visit` returns false; gives whether it went to the end.
///
/// Reads any program, verified or not.
/// Errors: Errc::out_of_memory.
template <class F> [[nodiscard]] Result<bool> walk_program(const Program& program, const F& visit) noexcept {
  struct Step {
    RegionId region;
    std::uint32_t depth;
  };
  Vector<Step> queue(program.allocator);
  Vector<std::uint8_t> seen(program.allocator);
  if (program.regions.empty()) return true;
  if (auto r = seen.resize(program.regions.size()); !r) return pass(r);
  if (auto r = queue.push_back({0, 0}); !r) return pass(r);
  seen[0] = 1;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const Step step = queue[next];
    const auto instructions = program.regions[step.region].instructions.span();
    for (std::uint32_t i = 0; i < instructions.size(); ++i) {
      if (!visit(ProgramPlace{step.region, step.depth, i, instructions[i]})) return false;
      for (const Attribute& a : program.attributes_of(instructions[i])) {
        if (a.kind != AttributeKind::region || a.bits >= seen.size() || seen[static_cast<std::size_t>(a.bits)] != 0)
          continue;
        seen[static_cast<std::size_t>(a.bits)] = 1;
        if (auto r = queue.push_back({static_cast<RegionId>(a.bits), step.depth + 1}); !r) return pass(r);
      }
    }
  }
  return true;
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
