// SPDX-License-Identifier: Apache-2.0
// tests/property/plan_memory.cpp: liveness, peak and memory of random graphs, proven and run.
#include <zrt/plan/compile.hpp>
#include <zrt/plan/memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <support/random_graph.hpp>

namespace {

using namespace zrt;
using namespace zrt::test;

plan::CompiledPlan compiled(const ir::Graph& graph) {
  auto plan = plan::compile(graph, catalog_ops(), reference_claims());
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
      EXPECT_EQ(d.level, plan::DiagnosticLevel::warn);
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

TEST(PlanMemory, NoTwoLiveRegistersOverlapInRandomGraphs) {
  std::size_t reused = 0, aliased = 0, scratched = 0;
  for (std::uint32_t seed = 0; seed < 2500; ++seed) {
    SCOPED_TRACE(seed);
    auto random = random_graph(seed, 3 + seed % 47);
    ASSERT_TRUE(random) << random.error().text();
    const plan::CompiledPlan plan = compiled(random->graph);
    for (const Extents& bounds : {extents(64, 8), extents(5, 3)}) {
      const auto scratch = reference_scratch(plan, bounds);
      const bool any_scratch = std::ranges::any_of(scratch, [](std::uint64_t bytes) { return bytes != 0; });
      const auto mapping = plan::plan_memory(plan.plan, plan.liveness, *catalog_ops().table, bounds, scratch);
      ASSERT_TRUE(mapping) << mapping.error().text();
      const auto proof = plan::check_memory(plan.plan, *catalog_ops().table, bounds, *mapping);
      ASSERT_TRUE(proof) << proof.error().text();
      ASSERT_LE(mapping->physical_count(), plan.peak_registers + (any_scratch ? 1 : 0));
      reused += mapping->physical_count() < plan.plan.registers.size();
      scratched += any_scratch;
      for (std::size_t i = 0; i < plan.plan.instructions.size(); ++i)
        for (plan::RegisterRef in : plan.plan.instruction(i).inputs)
          for (plan::RegisterRef out : plan.plan.instruction(i).outputs)
            aliased += in != plan::kNoRegister && mapping->of(in).offset == mapping->of(out).offset &&
                       mapping->of(in).size != 0;
    }
  }
  EXPECT_GT(reused, 2500u);
  EXPECT_GT(aliased, 2500u);
  EXPECT_GT(scratched, 2500u);
}

TEST(PlanMemory, ReuseChangesNoBit) {
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    auto graph = random_graph(seed + 7000, 3 + seed % 37);
    ASSERT_TRUE(graph) << graph.error().text();
    const plan::CompiledPlan plan = compiled(graph->graph);
    std::mt19937 random(seed);
    // One plan at two sizes: as prefill binds it and as decode does.
    for (const Extents& bounds : {extents(16, 8), extents(2, 2)}) {
      const Extents actual = extents(1 + random() % bounds.value[kTokens], 1 + random() % bounds.value[kRows]);
      const StepData run = random_step(plan.plan, bounds, actual, random);
      const auto planned = run_planned(plan, graph->weights.source(), run);
      const auto apart = run_apart(plan, graph->weights.source(), run);
      ASSERT_TRUE(planned) << planned.error().text();
      ASSERT_TRUE(apart) << apart.error().text();
      ASSERT_TRUE(*planned == *apart);
    }
  }
}

}  // namespace
