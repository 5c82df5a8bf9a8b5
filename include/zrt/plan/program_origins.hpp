// SPDX-License-Identifier: Apache-2.0
// zrt/plan/program_origins.hpp: which instruction of a program a node of its graph or an instruction of its plan is from.
#pragma once

#include <zrt/ir/passes/needed.hpp>
#include <zrt/ir/ptir/lower.hpp>
#include <zrt/plan/compiled_plan.hpp>
#include <zrt/plan/order.hpp>

#include <algorithm>
#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// Says of errors that name a node or an instruction of a plan which instruction of the program's main region they are
/// about, as long as no pass has run.
struct ProgramOrigins {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit ProgramOrigins(Allocator a = system_allocator()) noexcept : nodes(a), instructions(a) {}

  ir::ptir::LowerTrace nodes;
  Vector<std::uint32_t> instructions;  ///< for each instruction of the plan its index in the main region, or kNone

  /// The instruction that a node of the graph is from, or kNone.
  [[nodiscard]] std::uint32_t of_node(std::uint32_t node) const noexcept {
    const auto& first = nodes.first_nodes;
    const auto after = std::upper_bound(first.begin(), first.end(), node);
    return after == first.begin() || after == first.end() ? kNone
                                                          : static_cast<std::uint32_t>(after - first.begin()) - 1;
  }

  /// Finds the instructions of `compiled`, which was made of `graph` in this order. Expansion keeps the order of the
  /// instructions of one op, so the n-th in the plan is the n-th in the graph. An op that the plan holds more often
  /// than the graph, because another op expands into it, gets no origins.
  [[nodiscard]] Result<void> follow(const ir::Graph& graph, const OpTable& table, const CompiledPlan& compiled,
                                    Ordering ordering) noexcept {
    const auto needed = ir::needed_nodes(graph);
    if (!needed) return pass(needed);
    const auto order = node_order(graph, table, needed->span(), ordering);
    if (!order) return pass(order);
    const auto& plan = compiled.plan.instructions;
    instructions.clear();
    if (auto r = instructions.resize(plan.size()); !r) return r;
    std::array<std::uint32_t, 256> surplus{};  // of each op, how often more it is in the plan
    for (const InstructionRecord& i : plan) ++surplus[number(i.opcode)];
    for (const std::uint32_t node : *order) --surplus[number(graph.nodes[node].opcode)];
    std::array<std::size_t, 256> next{};  // of each op, the place in `order` from which on the next one is
    for (std::size_t k = 0; k < plan.size(); ++k) {
      const std::uint8_t op = number(plan[k].opcode);
      instructions[k] = kNone;
      if (surplus[op] != 0) continue;
      while (number(graph.nodes[(*order)[next[op]]].opcode) != op) ++next[op];
      instructions[k] = of_node((*order)[next[op]++]);
    }
    return {};
  }

  /// The instruction that an error of lowering, compiling, binding or writing C is about, or kNone.
  [[nodiscard]] std::uint32_t of_error(const Error& error, std::size_t main_instructions) const noexcept {
    const std::size_t begun = nodes.first_nodes.size();
    if (begun <= main_instructions) return begun == 0 ? kNone : static_cast<std::uint32_t>(begun) - 1;
    // The plan is there once its instructions are known.
    if (!instructions.empty())
      return error.instruction() < instructions.size() ? instructions[error.instruction()] : kNone;
    return error.instruction() == Error::kNoIndex ? kNone : of_node(error.instruction());
  }
};

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
