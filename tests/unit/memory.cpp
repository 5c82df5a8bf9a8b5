// SPDX-License-Identifier: Apache-2.0
// tests/unit/memory.cpp: what the memory planner gives for small plans, and broken mappings that the proof finds.
#include <zrt/plan/compile.hpp>
#include <zrt/plan/memory.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <support/random_graph.hpp>

namespace {

using namespace zrt;
using namespace zrt::test;
using plan::RegisterRef;

plan::CompiledPlan compiled(ir::Builder& g) {
  auto graph = g.finish();
  EXPECT_TRUE(graph) << graph.error().text();
  auto plan = plan::compile(*graph, catalog_ops(), reference_claims());
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? std::move(*plan) : plan::CompiledPlan();
}

plan::PhysicalMapping planned(const plan::CompiledPlan& p, const Extents& bounds,
                              std::span<const std::uint64_t> scratch) {
  auto mapping = plan::plan_memory(p.plan, p.liveness, *catalog_ops().table, bounds, scratch);
  EXPECT_TRUE(mapping) << mapping.error().text();
  if (!mapping) return plan::PhysicalMapping();
  const auto proof = plan::check_memory(p.plan, *catalog_ops().table, bounds, *mapping);
  EXPECT_TRUE(proof) << proof.error().text();
  return std::move(*mapping);
}

TEST(Memory, AChainOfInPlaceOpsLivesInOneBuffer) {
  ir::Builder g(*catalog_ops().table);
  auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 8)), 32}});
  for (int i = 0; i < 10; ++i) x = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
  g.output("y", x);
  const plan::CompiledPlan p = compiled(g);
  const std::vector<std::uint64_t> scratch(10);
  const auto mapping = planned(p, extents(8, 1), scratch);
  EXPECT_EQ(mapping.physical_count(), 1u);
  EXPECT_EQ(mapping.arena_bytes, 8u * 32u * 4u);
}

TEST(Memory, OneChainWithoutAliasesNeedsTwoBuffers) {
  // slice may not alias: each step writes beside what it reads.
  ir::Builder g(*catalog_ops().table);
  auto x = g.input("x", {DType::f32, {4, 40}});
  for (std::uint32_t i = 0; i < 8; ++i)
    x = g.emit<ops::Slice>({.in = {x}, .params = ops::SliceParams::of_last(g.type_of(x).shape, 1, 39 - i)})[0];
  g.output("y", x);
  const plan::CompiledPlan p = compiled(g);
  const auto mapping = planned(p, {}, std::vector<std::uint64_t>(8));
  EXPECT_EQ(p.plan.register_count(), 9u);
  EXPECT_EQ(p.peak_registers, 2u);
  EXPECT_EQ(mapping.physical_count(), 2u);
}

TEST(Memory, AnInputThatIsReadAgainIsNotOverwritten) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 8}});
  const auto n = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
  g.output("y", g.emit<ops::ElementwiseBinary>({.in = {n, x}})[0]);
  const auto p = compiled(g);
  const auto mapping = planned(p, {}, std::vector<std::uint64_t>(2));
  EXPECT_NE(mapping.of(RegisterRef{0}).offset, mapping.of(RegisterRef{1}).offset);
  EXPECT_EQ(mapping.of(RegisterRef{1}).offset, mapping.of(RegisterRef{2}).offset) << "neg dies with the sum";
  EXPECT_EQ(mapping.physical_count(), 2u);
}

TEST(Memory, AnOperandReadTwiceIsNotOverwritten) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 8}});
  g.output("y", g.emit<ops::ElementwiseBinary>({.in = {x, x}})[0]);
  const auto p = compiled(g);
  EXPECT_EQ(planned(p, {}, std::vector<std::uint64_t>(1)).physical_count(), 2u);
}

TEST(Memory, TwoResultsTakeOverTwoInputs) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 8}});
  const auto b = g.input("b", {DType::f32, {4, 8}});
  const auto both = g.emit<ops::ResidualRmsNorm>({.in = {x, b}, .params = {.norm = {.dim = 8}}});
  g.output("sum", both[0]);
  g.output("y", both[1]);
  const auto p = compiled(g);
  const auto mapping = planned(p, {}, std::vector<std::uint64_t>(1));
  EXPECT_EQ(mapping.physical_count(), 2u);
  EXPECT_EQ(mapping.of(RegisterRef{2}).offset, mapping.of(RegisterRef{0}).offset);
  EXPECT_EQ(mapping.of(RegisterRef{3}).offset, mapping.of(RegisterRef{1}).offset);
}

TEST(Memory, ScratchIsReusedAndNeverOverlapsWhatLives) {
  ir::Builder g(*catalog_ops().table);
  auto x = g.input("x", {DType::f32, {4, 8}});
  for (int i = 0; i < 4; ++i) x = g.emit<ops::Softmax>({.in = {x}})[0];
  g.output("y", x);
  const auto p = compiled(g);
  const auto mapping = planned(p, {}, std::vector<std::uint64_t>{1000, 0, 5000, 64});
  EXPECT_EQ(mapping.physical_count(), 2u) << "one register, one scratch";
  EXPECT_EQ(mapping.scratch_to_physical[1], plan::PhysicalMapping::kNoScratch);
  EXPECT_EQ(mapping.scratch_to_physical[0], mapping.scratch_to_physical[2]);
  EXPECT_EQ(mapping.physical_specs[mapping.scratch_to_physical[0]].size, 5000u);
  for (const plan::PhysicalSpec& spec : mapping.physical_specs) EXPECT_EQ(spec.offset % 64, 0u);
}

TEST(Memory, PrefillAndDecodeAreOnePlanAtTwoSizes) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 512)), 32}});
  const auto w = g.emit<ops::Slice>({.in = {x}, .params = ops::SliceParams::of_last(g.type_of(x).shape, 0, 16)})[0];
  g.output("y", g.emit<ops::Softmax>({.in = {w}})[0]);
  const auto p = compiled(g);
  const auto prefill = planned(p, extents(512, 1), std::vector<std::uint64_t>(2));
  const auto decode = planned(p, extents(4, 1), std::vector<std::uint64_t>(2));
  EXPECT_EQ(prefill.physical_count(), decode.physical_count());
  EXPECT_EQ(prefill.arena_bytes, 128 * decode.arena_bytes);
}

TEST(Memory, SizesThatDoNotFitAreErrors) {
  ir::Builder g(*catalog_ops().table);
  const SymbolId tokens = g.symbol("tokens", 1);
  const auto x = g.input("x", {DType::f32, {Dim(0x80000000u, tokens), Dim(0x80000000u, tokens)}});
  g.output("y", g.emit<ops::ElementwiseUnary>({.in = {x}})[0]);
  const auto p = compiled(g);
  const auto r = plan::plan_memory(p.plan, p.liveness, *catalog_ops().table, extents(0xffffffffu, 1),
                                   std::vector<std::uint64_t>(1));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::size_overflow);
  const auto huge = plan::plan_memory(p.plan, p.liveness, *catalog_ops().table, extents(1, 1),
                                      std::vector<std::uint64_t>{~std::uint64_t{0}});
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code(), Errc::size_overflow);
}

TEST(Memory, TheProofFindsBrokenMappings) {
  // x -> a = slice x -> y = a + b, sum and norm of (y, b): registers x 0, b 1, a 2, y 3, sum 4, norm 5.
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  const auto b = g.input("b", {DType::f32, {4, 16}});
  const auto a = g.emit<ops::Slice>({.in = {x}, .params = ops::SliceParams::of_last(g.type_of(x).shape, 0, 16)})[0];
  const auto y = g.emit<ops::ElementwiseBinary>({.in = {a, b}})[0];
  const auto both = g.emit<ops::ResidualRmsNorm>({.in = {y, b}, .params = {.norm = {.dim = 16}}});
  g.output("sum", both[0]);
  g.output("norm", both[1]);
  const plan::CompiledPlan p = compiled(g);
  const std::vector<std::uint64_t> scratch{0, 256, 0};

  using M = plan::PhysicalMapping&;
  struct Broken {
    std::string_view name;
    std::function<void(M)> harm;
    Errc code;
    std::string_view text;
  };
  const std::vector<Broken> cases{
      {"inputs share", [](M m) { m.register_to_physical[1] = m.register_to_physical[0]; }, Errc::overlapping_writers,
       "inputs 1 and 0"},
      {"result over a live register", [](M m) { m.register_to_physical[2] = m.register_to_physical[1]; },
       Errc::overlapping_writers, "registers 2 and 1"},
      {"result over its operand where no alias is declared",
       [](M m) { m.register_to_physical[2] = m.register_to_physical[0]; }, Errc::overlapping_writers,
       "registers 2 and 0"},
      {"result over an operand that lives on", [](M m) { m.register_to_physical[3] = m.register_to_physical[1]; },
       Errc::overlapping_writers, "registers 3 and 1"},
      {"two results in one place", [](M m) { m.register_to_physical[5] = m.register_to_physical[4]; },
       Errc::overlapping_writers, "registers 5 and 4"},
      {"scratch over an operand", [](M m) { m.scratch_to_physical[1] = m.register_to_physical[1]; },
       Errc::overlapping_writers, "share memory"},
      {"scratch over a result", [](M m) { m.scratch_to_physical[1] = m.register_to_physical[3]; },
       Errc::overlapping_writers, "share memory"},
      {"buffers overlap",
       [](M m) {
         m.physical_specs[m.register_to_physical[1]].offset = m.physical_specs[m.register_to_physical[0]].offset + 64;
       },
       Errc::overlapping_writers, "share memory"},
      {"an alias that is shifted",
       [](M m) {
         plan::PhysicalSpec spec = m.of(RegisterRef{2});
         spec.offset += 64;
         m.arena_bytes += 64;
         m.register_to_physical[3] = static_cast<std::uint16_t>(m.physical_specs.size());
         (void)m.physical_specs.push_back(spec);
       },
       Errc::overlapping_writers, "registers 3"},
      {"arena too small for an input", [](M m) { m.arena_bytes = 8; }, Errc::invalid_plan, "outside the arena"},
      {"a result past the arena",
       [](M m) {
         m.register_to_physical[2] = static_cast<std::uint16_t>(m.physical_specs.size());
         (void)m.physical_specs.push_back({m.arena_bytes, 256, 64});
       },
       Errc::invalid_plan, "register 2 lies outside the arena"},
      {"scratch past the arena", [](M m) { m.physical_specs[m.scratch_to_physical[1]].offset = m.arena_bytes; },
       Errc::invalid_plan, "outside the arena"},
      {"a buffer smaller than its register", [](M m) { m.physical_specs[m.register_to_physical[0]].size = 500; },
       Errc::invalid_plan, "register 0 has 512 bytes, its buffer 500"},
      {"a buffer off its alignment", [](M m) { m.physical_specs[m.register_to_physical[0]].offset = 4; },
       Errc::invalid_plan, "at offset 4"},
      {"no such buffer", [](M m) { m.register_to_physical[4] = 77; }, Errc::invalid_plan, "no buffer"},
      {"no such scratch", [](M m) { m.scratch_to_physical[1] = 77; }, Errc::invalid_plan, "instruction 1"},
      {"scratch without a place", [](M m) { m.scratch_to_physical[1] = plan::PhysicalMapping::kNoScratch; },
       Errc::invalid_plan, "instruction 1"},
      {"another plan's mapping", [](M m) { m.register_to_physical.pop_back(); }, Errc::invalid_plan,
       "not of this plan"},
  };
  for (const Broken& broken : cases) {
    plan::PhysicalMapping mapping = planned(p, {}, scratch);
    broken.harm(mapping);
    const auto r = plan::check_memory(p.plan, *catalog_ops().table, {}, mapping);
    ASSERT_FALSE(r) << broken.name;
    EXPECT_EQ(name(r.error().code()), name(broken.code)) << broken.name << ": " << r.error().text();
    EXPECT_NE(r.error().text().find(broken.text), std::string_view::npos) << broken.name << ": " << r.error().text();
  }
}

}  // namespace
