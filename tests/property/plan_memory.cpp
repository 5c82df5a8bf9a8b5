// SPDX-License-Identifier: Apache-2.0
// tests/property/plan_memory.cpp: liveness, peak and memory of random graphs, proven and run.
#include <zrt/plan/compile.hpp>
#include <zrt/plan/memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <support/random_graph.hpp>

namespace plan_memory_test {
namespace {

using namespace zrt;
using namespace zrt::test;

constexpr std::array kOrderings{plan::Ordering::program, plan::Ordering::freed_bytes, plan::Ordering::lazy_rescore};
constexpr std::array kFits{plan::Fit::least, plan::Fit::first, plan::Fit::best};

plan::CompiledPlan compiled(const ir::Graph& graph, plan::Ordering ordering = plan::Ordering::program) {
  auto plan = plan::compile(graph, catalog_ops(), reference_claims(), {.ordering = ordering});
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? std::move(*plan) : plan::CompiledPlan();
}

/// Every instruction that reads `reg`, found by looking at all of them.
std::vector<std::uint32_t> readers(const plan::ExecutionPlan& plan, std::uint16_t reg) {
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i)
    for (plan::RegisterRef r : plan.instruction(i).inputs)
      if (r == plan::RegisterRef{reg} && (found.empty() || found.back() != i))
        found.push_back(static_cast<std::uint32_t>(i));
  return found;
}

void check_liveness(const plan::CompiledPlan& compiled) {
  const plan::ExecutionPlan& plan = compiled.plan;
  const plan::LivenessMap& live = compiled.liveness;
  ASSERT_EQ(live.kill_offsets.size(), plan.instructions.size() + 1);
  ASSERT_EQ(live.register_last_read.size(), plan.registers.size());
  std::set<std::uint16_t> inputs, outputs, never_read;
  for (const plan::PlanPort& p : plan.inputs) inputs.insert(plan::index(p.reg));
  for (const plan::PlanPort& p : plan.outputs) outputs.insert(plan::index(p.reg));
  for (const plan::PlanDiagnostic& d : compiled.diagnostics)
    if (d.kind == plan::DiagnosticKind::never_read) {
      EXPECT_EQ(d.level, Severity::warning);
      never_read.insert(plan::index(d.reg));
    }
  std::vector<std::uint32_t> killed_at(plan.registers.size(), plan::LivenessMap::kNeverRead);
  for (std::uint32_t i = 0; i < plan.instructions.size(); ++i) {
    std::vector<std::uint64_t> words((plan.registers.size() + 63) / 64);
    live.kill_bitset(i, words);
    std::size_t bits = 0;
    for (std::uint64_t word : words) bits += static_cast<std::size_t>(__builtin_popcountll(word));
    EXPECT_EQ(bits, live.kill_after_instruction(i).size());
    for (plan::RegisterRef r : live.kill_after_instruction(i)) {
      EXPECT_EQ(killed_at[plan::index(r)], plan::LivenessMap::kNeverRead) << "a register dies once";
      killed_at[plan::index(r)] = i;
      EXPECT_TRUE(words[plan::index(r) / 64u] >> plan::index(r) % 64u & 1u);
    }
  }
  for (std::uint16_t r = 0; r < plan.registers.size(); ++r) {
    const auto reads = readers(plan, r);
    if (outputs.contains(r)) {
      EXPECT_EQ(live.register_last_read[r], plan::LivenessMap::kReadAfterEnd);
      EXPECT_EQ(killed_at[r], plan::LivenessMap::kNeverRead);
    } else if (!reads.empty()) {
      EXPECT_EQ(live.register_last_read[r], reads.back());
      EXPECT_EQ(killed_at[r], reads.back());
      EXPECT_FALSE(never_read.contains(r));
    } else {
      EXPECT_EQ(live.register_last_read[r], plan::LivenessMap::kNeverRead);
      EXPECT_EQ(never_read.contains(r), !inputs.contains(r));
      if (!inputs.contains(r)) {
        EXPECT_EQ(killed_at[r], live.register_first_write[r]);
      }
    }
  }
  // Peak, counted register by register at each instruction.
  std::size_t peak = inputs.size();
  for (std::uint32_t i = 0; i < plan.instructions.size(); ++i) {
    std::size_t count = 0;
    for (std::uint16_t r = 0; r < plan.registers.size(); ++r) {
      const bool born = inputs.contains(r) || live.register_first_write[r] <= i;
      const auto reads = readers(plan, r);
      const bool used_later = outputs.contains(r) || (!reads.empty() && reads.back() >= i) ||
                              (reads.empty() && (inputs.contains(r) || live.register_first_write[r] == i));
      count += born && used_later ? 1 : 0;
    }
    peak = std::max(peak, count);
  }
  EXPECT_EQ(compiled.peak_registers, peak);
}

TEST(PlanMemory, LivenessOfRandomGraphsIsWhatCountingGives) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    auto random = random_graph(seed, 4 + seed % 40);
    ASSERT_TRUE(random) << random.error().text();
    SCOPED_TRACE(seed);
    check_liveness(compiled(random->graph));
  }
}

/// The bytes that have to be somewhere while each instruction runs, at most: what no planner can go below.
///
/// A register counts while it is needed; of registers that share bytes, as `mapping` has it, one.
std::uint64_t live_bytes(const plan::CompiledPlan& p, const plan::PhysicalMapping& mapping) {
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < p.plan.instructions.size(); ++i) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (std::uint16_t r = 0; r < p.plan.registers.size(); ++r) {
      const bool input =
          std::ranges::any_of(p.plan.inputs, [&](const auto& port) { return plan::index(port.reg) == r; });
      const std::uint32_t born = input ? 0 : p.liveness.register_first_write[r];
      const std::uint32_t last = p.liveness.register_last_read[r];
      if (born > i || (last == plan::LivenessMap::kNeverRead ? input || born != i : last < i)) continue;
      const plan::PhysicalSpec& at = mapping.of(plan::RegisterRef{r});
      ranges.emplace_back(at.offset, at.offset + at.size);
    }
    if (const std::uint16_t s = mapping.scratch_to_physical[i]; s != plan::PhysicalMapping::kNoScratch)
      ranges.emplace_back(mapping.physical_specs[s].offset,
                          mapping.physical_specs[s].offset + mapping.scratch_bytes[i]);
    std::ranges::sort(ranges);
    std::uint64_t bytes = 0, end = 0;
    for (const auto& [from, to] : ranges) {
      bytes += to > std::max(from, end) ? to - std::max(from, end) : 0;
      end = std::max(end, to);
    }
    most = std::max(most, bytes);
  }
  return most;
}

/// Registers that live while an instruction runs, those that share bytes counted once, at most.
std::size_t buffers_at_once(const plan::CompiledPlan& p, const plan::PhysicalMapping& mapping) {
  std::size_t most = 0;
  // Every instruction, and the borders of a plan that may have none.
  for (std::uint32_t i = 0; i < std::max<std::size_t>(p.plan.instructions.size(), 1); ++i) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (std::uint16_t r = 0; r < p.plan.registers.size(); ++r) {
      const bool input =
          std::ranges::any_of(p.plan.inputs, [&](const auto& port) { return plan::index(port.reg) == r; });
      const std::uint32_t born = input ? 0 : p.liveness.register_first_write[r];
      const std::uint32_t last = p.liveness.register_last_read[r];
      if (born > i || (last == plan::LivenessMap::kNeverRead ? input || born != i : last < i)) continue;
      const plan::PhysicalSpec& at = mapping.of(plan::RegisterRef{r});
      if (at.size != 0) ranges.emplace_back(at.offset, at.offset + at.size);
    }
    std::ranges::sort(ranges);
    std::size_t apart = 0;
    std::uint64_t end = 0;
    for (const auto& [from, to] : ranges) {
      apart += from >= end ? 1 : 0;
      end = std::max(end, to);
    }
    most = std::max(most, apart);
  }
  return most;
}

TEST(PlanMemory, NoTwoLiveRegistersOverlapInRandomGraphs) {
  std::size_t fewer = 0, counted = 0, aliased = 0, views = 0, parts = 0, scratched = 0, reordered = 0;
  std::array<std::uint64_t, kFits.size()> arenas{};
  std::uint64_t needed = 0;
  const OpTable& table = *catalog_ops().table;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    auto random = random_graph(seed, 3 + seed % 47);
    ASSERT_TRUE(random) << random.error().text();
    const plan::CompiledPlan in_order = compiled(random->graph);
    for (const plan::Ordering ordering : kOrderings) {
      const plan::CompiledPlan p = compiled(random->graph, ordering);
      ASSERT_EQ(p.plan.instructions.size(), in_order.plan.instructions.size());
      for (std::size_t i = 0; i < p.plan.instructions.size(); ++i)
        if (p.plan.instructions[i].opcode != in_order.plan.instructions[i].opcode) {
          ++reordered;
          break;
        }
      const Extents bounds = seed % 2 == 0 ? extents(64, 8) : extents(5, 3);
      const auto scratch = reference_scratch(p, bounds);
      scratched += std::ranges::any_of(scratch, [](std::uint64_t bytes) { return bytes != 0; });
      for (std::size_t fit = 0; fit < kFits.size(); ++fit) {
        const auto mapping = plan::plan_memory(p.plan, p.liveness, table, bounds, scratch, {kFits[fit]});
        ASSERT_TRUE(mapping) << mapping.error().text();
        const auto proof = plan::check_memory(p.plan, table, bounds, *mapping);
        ASSERT_TRUE(proof) << proof.error().text();
        const std::uint64_t floor = live_bytes(p, *mapping);
        ASSERT_GE(mapping->arena_bytes, floor);
        arenas[fit] += mapping->arena_bytes;
        ASSERT_LE(mapping->physical_count, p.peak_registers);
        fewer += mapping->physical_count < p.peak_registers;
        if (fit != 0) {
          continue;
        }
        needed += floor;
        const std::size_t parts_before = parts;
        for (std::size_t i = 0; i < p.plan.instructions.size(); ++i) {
          const plan::Instruction insn = p.plan.instruction(i);
          const bool view = plan::is_view(p.plan, insn, *table[number(insn.opcode)], *mapping);
          views += view;
          parts += view && mapping->of(insn.outputs[0]).size < mapping->of(insn.inputs[0]).size;
          for (plan::RegisterRef in : insn.inputs)
            for (plan::RegisterRef out : insn.outputs)
              aliased += !view && in != plan::kNoRegister && mapping->of(in).offset == mapping->of(out).offset &&
                         mapping->of(in).size != 0;
        }
        // Two parts of one buffer count as two below.
        const bool unread = std::ranges::any_of(p.plan.inputs, [&](const auto& port) {
          return p.liveness.register_last_read[plan::index(port.reg)] == plan::LivenessMap::kNeverRead;
        });
        if (parts == parts_before && !unread) {
          ++counted;
          ASSERT_EQ(mapping->physical_count, buffers_at_once(p, *mapping));
        }
      }
    }
  }
  EXPECT_GT(aliased, 9000u);
  EXPECT_GT(views, 6000u);
  EXPECT_GT(parts, 300u);
  EXPECT_GT(scratched, 3000u);
  EXPECT_GT(reordered, 2000u);
  EXPECT_GT(counted, 3000u);
  EXPECT_GT(fewer, 5000u) << "results in place and views take no buffer of their own";
  RecordProperty("arena_over_live_bytes", std::to_string(static_cast<double>(arenas[0]) / static_cast<double>(needed)));
  // Chains of results in place and views are rigid, so that the floor cannot always be reached.
  EXPECT_LT(arenas[0], needed + needed / 6);
  EXPECT_LT(arenas[0], arenas[1]);
  EXPECT_LT(arenas[0], arenas[2]);
}

TEST(PlanMemory, ReuseAndOrderChangeNoBit) {
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    auto graph = random_graph(seed + 7000, 3 + seed % 37);
    ASSERT_TRUE(graph) << graph.error().text();
    const plan::CompiledPlan plan = compiled(graph->graph);
    const plan::CompiledPlan reordered = compiled(graph->graph, kOrderings[1 + seed % 2]);
    std::mt19937 random(seed);
    // One plan at two sizes: as prefill binds it and as decode does.
    for (const Extents& bounds : {extents(16, 8), extents(2, 2)}) {
      const Extents actual = extents(1 + random() % bounds.value[kTokens], 1 + random() % bounds.value[kRows]);
      StepData run = random_step(plan.plan, bounds, actual, random);
      const auto apart = run_apart(plan, graph->weights.source(), run);
      ASSERT_TRUE(apart) << apart.error().text();
      run.fit = kFits[seed % kFits.size()];
      for (const plan::CompiledPlan* p : {&plan, &reordered}) {
        const auto planned = run_planned(*p, graph->weights.source(), run);
        ASSERT_TRUE(planned) << planned.error().text();
        ASSERT_TRUE(*planned == *apart);
      }
    }
  }
}

/// The plans of ten thousand instructions that are hardest on one part of the planner each.
std::vector<std::pair<std::string_view, ir::Graph>> long_graphs() {
  std::vector<std::pair<std::string_view, ir::Graph>> graphs;
  constexpr std::uint32_t kMany = 5000;
  auto finish = [&](std::string_view name, ir::Builder& g, ir::ValueId y) {
    g.output("y", y);
    auto graph = g.finish();
    EXPECT_TRUE(graph) << graph.error().text();
    if (graph) graphs.emplace_back(name, std::move(*graph));
  };
  auto sum = [](ir::Builder& g, const std::vector<ir::ValueId>& values) {
    ir::ValueId total = values[0];
    for (std::size_t i = 1; i < values.size(); ++i)
      total = g.emit<ops::ElementwiseBinary>({.in = {total, values[i]}})[0];
    return total;
  };
  {
    ir::Builder g(*catalog_ops().table);
    auto x = g.input("x", {DType::f32, {4, 32}});
    for (std::uint32_t i = 0; i < 2 * kMany; ++i) x = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
    finish("one chain in place", g, x);
  }
  {
    ir::Builder g(*catalog_ops().table);
    const auto x = g.input("x", {DType::f32, {4, 32}});
    std::vector<ir::ValueId> values;
    for (std::uint32_t i = 0; i < kMany; ++i) values.push_back(g.emit<ops::Softmax>({.in = {x}})[0]);
    finish("all live at once", g, sum(g, values));
  }
  {
    ir::Builder g(*catalog_ops().table);
    const auto x = g.input("x", {DType::f32, {kMany, 16}});
    std::vector<ir::ValueId> values;
    for (std::uint32_t i = 0; i < kMany; ++i) {
      ops::SliceParams row;
      row.sizes = ShapeParams::of({1, 16});
      row.starts[0] = i;
      values.push_back(g.emit<ops::Slice>({.in = {x}, .params = row})[0]);
    }
    finish("all views of one", g, sum(g, values));
  }
  return graphs;
}

TEST(PlanMemory, PlansOfTenThousandInstructions) {
  for (const auto& [name, graph] : long_graphs()) {
    SCOPED_TRACE(name);
    for (const plan::Ordering ordering : kOrderings) {
      const plan::CompiledPlan p = compiled(graph, ordering);
      ASSERT_GE(p.plan.instructions.size(), 9999u);
      std::mt19937 random(1);
      StepData run = random_step(p.plan, {}, {}, random);
      const auto planned = run_planned(p, {}, run);
      const auto apart = run_apart(p, {}, run);
      ASSERT_TRUE(planned && apart);
      EXPECT_TRUE(*planned == *apart);
    }
  }
}

}  // namespace
}  // namespace plan_memory_test
