// SPDX-License-Identifier: Apache-2.0
// tests/unit/plan.cpp: what the plan compiler does with a graph: liveness, steps down, dead code, rounding.
#include <zrt/ops/lm_head.hpp>
#include <zrt/ops/swiglu.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <support/random_graph.hpp>
#include <tools/gguf_counting_allocator.hpp>

namespace plan_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using plan::LivenessMap;
using plan::RegisterRef;

Result<plan::CompiledPlan> compile(ir::Builder& g, const plan::CompileOptions& options = {},
                                   const OpSet& claims = reference_claims()) {
  auto graph = g.finish();
  if (!graph) return pass(graph);
  return plan::compile(*graph, catalog_ops(), claims, options);
}

TEST(Plan, LivenessOfAChain) {
  // r0 = x; r1 = neg r0; r2 = abs r1; r3 = r2 + r0; sum r4, y r5 = residual_rms_norm(r3, r3)
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  const auto n = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
  const auto a = g.emit<ops::ElementwiseUnary>({.in = {n}, .params = {ops::UnaryKind::abs}})[0];
  const auto s = g.emit<ops::ElementwiseBinary>({.in = {a, x}})[0];
  const auto both = g.emit<ops::ResidualRmsNorm>({.in = {s, s}, .params = {.norm = {.dim = 32}}});
  g.output("y", both[1]);
  const auto p = compile(g);
  ASSERT_TRUE(p) << p.error().text();
  ASSERT_EQ(p->plan.register_count(), 6u);
  const std::vector<std::uint32_t> last{2, 1, 2, 3, LivenessMap::kNeverRead, LivenessMap::kReadAfterEnd};
  EXPECT_TRUE(std::ranges::equal(p->liveness.register_last_read, last));
  const std::vector<std::vector<RegisterRef>> kills{
      {}, {RegisterRef{1}}, {RegisterRef{2}, RegisterRef{0}}, {RegisterRef{3}, RegisterRef{4}}};
  ASSERT_EQ(p->liveness.kill_offsets.size(), 5u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(std::ranges::equal(p->liveness.kill_after_instruction(i), kills[i])) << i;
    std::array<std::uint64_t, 1> word{~std::uint64_t{0}};
    p->liveness.kill_bitset(i, word);
    std::uint64_t expected = 0;
    for (RegisterRef r : kills[i]) expected |= std::uint64_t{1} << plan::index(r);
    EXPECT_EQ(word[0], expected) << i;
  }
  EXPECT_EQ(p->peak_registers, 3u);
  ASSERT_EQ(p->diagnostics.size(), 1u);
  EXPECT_EQ(p->diagnostics[0].kind, plan::DiagnosticKind::never_read);
  EXPECT_EQ(p->diagnostics[0].level, Severity::warning);
  EXPECT_EQ(p->diagnostics[0].reg, RegisterRef{4});
  EXPECT_EQ(p->diagnostics[0].instruction, 3u);
}

TEST(Plan, KillBitsetBeyondOneWord) {
  ir::Builder g(*catalog_ops().table);
  auto x = g.input("x", {DType::f32, {4}});
  for (int i = 0; i < 130; ++i) x = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
  g.output("y", x);
  const auto p = compile(g);
  ASSERT_TRUE(p);
  std::array<std::uint64_t, 3> words{};
  p->liveness.kill_bitset(129, words);
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 0u);
  EXPECT_EQ(words[2], std::uint64_t{1} << (129 - 128));
  EXPECT_EQ(p->peak_registers, 2u);
}

TEST(Plan, DeadCodeGoesAndStateStays) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  const auto dead = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
  (void)g.emit<ops::Softmax>({.in = {dead}});
  g.output("y", g.emit<ops::ElementwiseBinary>({.in = {x, x}})[0]);
  const auto p = compile(g);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->plan.instructions.size(), 1u);
  EXPECT_EQ(p->plan.register_count(), 2u);
  EXPECT_TRUE(p->diagnostics.empty());
}

/// One feed-forward block of 32 x 64, weights of `dtype`.
Result<plan::CompiledPlan> mlp(DType dtype, const plan::CompileOptions& options,
                               const OpSet& claims = reference_claims()) {
  std::mt19937 random(5);
  Weights weights;
  weights.add_random("norm", DType::f32, 0, 32, random);
  weights.add_random("gate", dtype, 64, 32, random);
  weights.add_random("up", dtype, 64, 32, random);
  weights.add_random("down", dtype, 32, 64, random);
  ir::Builder g(*catalog_ops().table, system_allocator(), weights.lookup());
  const auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 8)), 32}});
  g.output("y", g.emit<ops::Swiglu>({.in = {x},
                                     .w = {g.weight("norm", {32}), g.weight("gate", {64, 32}), g.weight("up", {64, 32}),
                                           g.weight("down", {32, 64})}})[0]);
  return compile(g, options, claims);
}

TEST(Plan, StepsDownTheLadderUntilEverythingIsClaimed) {
  const auto fused = mlp(DType::f32, {});
  ASSERT_TRUE(fused) << fused.error().text();
  ASSERT_EQ(fused->diagnostics.size(), 1u);
  EXPECT_EQ(fused->diagnostics[0].kind, plan::DiagnosticKind::expanded);
  EXPECT_EQ(fused->diagnostics[0].level, Severity::info);
  EXPECT_EQ(fused->diagnostics[0].opcode, ops::Swiglu::opcode);
  EXPECT_EQ(fused->diagnostics[0].count, 2u);
  EXPECT_EQ(fused->plan.instructions.size(), 2u);

  // A backend of primitives only: every step down is recorded, and no fused op is left.
  OpSet primitives;
  for (unsigned n = 64; n < 103; ++n) primitives.insert(Opcode{static_cast<std::uint8_t>(n)});
  const auto low = mlp(DType::f32, {}, primitives);
  ASSERT_TRUE(low) << low.error().text();
  std::size_t steps = 0;
  for (const plan::PlanDiagnostic& d : low->diagnostics) steps += d.kind == plan::DiagnosticKind::expanded ? 1u : 0u;
  EXPECT_GE(steps, 4u);
  for (const plan::InstructionRecord& r : low->plan.instructions) EXPECT_TRUE(primitives.contains(r.opcode));
}

TEST(Plan, AnOpThatNobodyRunsIsNamedWhenThePlanIsCompiled) {
  OpSet few;
  few.insert(ops::RmsNorm::opcode);
  const auto p = mlp(DType::f32, {}, few);
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error().code(), Errc::unsupported_opcode);
  EXPECT_NE(p.error().instruction(), Error::kNoIndex);
  EXPECT_NE(p.error().text().find("nor can it be expanded"), std::string_view::npos);
}

quant::Act linear_act(const plan::CompiledPlan& p) {
  for (std::size_t i = 0; i < p.plan.instructions.size(); ++i) {
    const plan::Instruction insn = p.plan.instruction(i);
    if (insn.opcode != ops::Linear::opcode) continue;
    return decode_params<ops::Linear>(p.plan.param_block(*insn.param_block_id))->act;
  }
  ADD_FAILURE() << "no linear";
  return quant::Act::none;
}

TEST(Plan, RoundingFollowsTheWeightsTypeAndThePolicy) {
  for (DType dtype : {DType::f32, DType::f16, DType::q8_0, DType::q4_0}) {
    const auto rounded = mlp(dtype, {.act = ActPolicy::weight});
    const auto exact = mlp(dtype, {.act = ActPolicy::none});
    ASSERT_TRUE(rounded && exact) << name(dtype);
    EXPECT_EQ(linear_act(*rounded), is_block(dtype) ? quant::Act::q8_32 : quant::Act::none) << name(dtype);
    EXPECT_EQ(linear_act(*exact), quant::Act::none) << name(dtype);
  }
}

TEST(Plan, PortsSymbolsAndWeightsKeepTheirNames) {
  const auto p = mlp(DType::q8_0, {});
  ASSERT_TRUE(p);
  EXPECT_EQ(p->plan.symbol("tokens"), 1u);
  EXPECT_EQ(p->plan.symbol("none"), 0u);
  EXPECT_EQ(p->plan.symbols[0].bound, 8u);
  EXPECT_EQ(p->plan.input("x"), RegisterRef{0});
  EXPECT_EQ(p->plan.input("none"), plan::kNoRegister);
  EXPECT_NE(p->plan.output("y"), plan::kNoRegister);
  EXPECT_EQ(p->plan.weights[1].name.view(), "gate");
}

TEST(Plan, CompileJudgesItsGraph) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  g.output("y", g.emit<ops::ElementwiseUnary>({.in = {x}})[0]);
  g.graph().values[1].type.shape.dims[0] = 5;
  const auto p = plan::compile(g.graph(), catalog_ops(), reference_claims());
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error().code(), Errc::shape_mismatch);
}

TEST(Plan, EveryAllocationOfCompilingMayFail) {
  const auto random = random_graph(11, 25);
  ASSERT_TRUE(random);
  std::uint64_t failed = 0;
  for (std::uint64_t at = 0;; ++at) {
    CountingAllocator allocator;
    allocator.fail_at = at;
    bool done = false;
    {
      // The graph carries the allocator: a copy of each list, then the plan.
      auto build = [&]() -> Result<plan::CompiledPlan> {
        ir::Graph g(allocator.hook());
        const ir::Graph& from = random->graph;
        if (auto r = g.nodes.append(from.nodes.span()); !r) return pass(r);
        if (auto r = g.values.append(from.values.span()); !r) return pass(r);
        if (auto r = g.weights.append(from.weights.span()); !r) return pass(r);
        if (auto r = g.symbols.append(from.symbols.span()); !r) return pass(r);
        if (auto r = g.inputs.append(from.inputs.span()); !r) return pass(r);
        if (auto r = g.outputs.append(from.outputs.span()); !r) return pass(r);
        if (auto r = g.operands.append(from.operands.span()); !r) return pass(r);
        if (auto r = g.params.append(from.params.span()); !r) return pass(r);
        if (auto r = g.constants.append(from.constants.span()); !r) return pass(r);
        return plan::compile(g, catalog_ops(), reference_claims());
      };
      const auto plan = build();
      done = plan.has_value();
      if (!plan) {
        EXPECT_EQ(plan.error().code(), Errc::out_of_memory) << plan.error().text();
        ++failed;
      }
    }
    EXPECT_EQ(allocator.live, 0u) << at;
    if (done) break;
  }
  EXPECT_GE(failed, 30u);
}

}  // namespace
}  // namespace plan_test
