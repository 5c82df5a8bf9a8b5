// SPDX-License-Identifier: Apache-2.0
// tests/unit/memory.cpp: what the memory planner gives for small plans, and broken mappings that the proof finds.
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/memory.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <support/random_graph.hpp>
#include <tools/gguf_counting_allocator.hpp>

namespace memory_test {
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
  EXPECT_EQ(mapping.physical_count, 1u);
  EXPECT_EQ(mapping.arena_bytes, 8u * 32u * 4u);
}

TEST(Memory, KeptValuesLieApartAndTheProofHoldsThemTo) {
  ir::Builder g(*catalog_ops().table);
  auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 8)), 32}});
  for (int i = 0; i < 10; ++i) x = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
  g.output("y", x);
  const plan::CompiledPlan p = compiled(g);
  const std::vector<std::uint64_t> scratch(10, 64);
  const Extents bounds = extents(8, 1);
  const OpTable& table = *catalog_ops().table;
  const auto mapping = plan::plan_memory(p.plan, p.liveness, table, bounds, scratch, {.keep_values = true});
  ASSERT_TRUE(mapping) << mapping.error().text();
  EXPECT_TRUE(plan::check_memory(p.plan, table, bounds, *mapping, {}, true));
  std::set<std::uint64_t> places;
  for (std::uint16_t reg = 0; reg < p.plan.register_count(); ++reg) places.insert(mapping->of(RegisterRef{reg}).offset);
  EXPECT_EQ(places.size(), 11u);
  EXPECT_GE(mapping->arena_bytes, 11u * 8u * 32u * 4u);
  // A plan in one buffer is right, and keeps nothing.
  const auto in_place = planned(p, bounds, scratch);
  const auto found = plan::check_memory(p.plan, table, bounds, in_place, {}, true);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Errc::overlapping_writers) << found.error().text();
}

TEST(Memory, OneChainWithoutAliasesNeedsTwoPlaces) {
  // A slice of columns may not alias: each step writes beside what it reads.
  ir::Builder g(*catalog_ops().table);
  auto x = g.input("x", {DType::f32, {4, 40}});
  for (std::uint32_t i = 0; i < 8; ++i)
    x = g.emit<ops::Slice>({.in = {x}, .params = ops::SliceParams::of_last(g.type_of(x).shape, 1, 39 - i)})[0];
  g.output("y", x);
  const plan::CompiledPlan p = compiled(g);
  const auto mapping = planned(p, {}, std::vector<std::uint64_t>(8));
  EXPECT_EQ(p.plan.register_count(), 9u);
  EXPECT_EQ(p.peak_registers, 2u);
  EXPECT_EQ(mapping.arena_bytes, 640u + 640u) << "4 x 40 and 4 x 39 floats, in whole 64 bytes";
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
  EXPECT_EQ(mapping.physical_count, 2u);
}

TEST(Memory, AnOperandReadTwiceIsNotOverwritten) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 8}});
  g.output("y", g.emit<ops::ElementwiseBinary>({.in = {x, x}})[0]);
  const auto p = compiled(g);
  EXPECT_EQ(planned(p, {}, std::vector<std::uint64_t>(1)).physical_count, 2u);
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
  EXPECT_EQ(mapping.physical_count, 2u);
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
  EXPECT_EQ(mapping.arena_bytes, 128u + 5056u) << "the register and the largest scratch";
  EXPECT_EQ(mapping.scratch_to_physical[1], plan::PhysicalMapping::kNoScratch);
  EXPECT_EQ(mapping.physical_specs[mapping.scratch_to_physical[0]].offset,
            mapping.physical_specs[mapping.scratch_to_physical[2]].offset);
  EXPECT_EQ(mapping.physical_specs[mapping.scratch_to_physical[0]].size, 1000u);
  EXPECT_EQ(mapping.physical_specs[mapping.scratch_to_physical[2]].size, 5000u);
  for (const plan::PhysicalSpec& spec : mapping.physical_specs) EXPECT_EQ(spec.offset % 64, 0u);
}

/// `count` rows of x from row `start` on.
ir::ValueId rows_of(ir::Builder& g, ir::ValueId x, std::uint32_t start, std::uint32_t count) {
  ops::SliceParams params;
  Shape shape = g.type_of(x).shape;
  shape.dims[0] = count;
  params.sizes = ShapeParams::of(shape);
  params.starts[0] = start;
  return g.emit<ops::Slice>({.in = {x}, .params = params})[0];
}

TEST(Memory, AReshapeAndRowsOfATensorAreViewsOfItWhileItLivesOn) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  const auto flat = g.emit<ops::Reshape>({.in = {x}, .params = {ShapeParams::of({128})}})[0];
  const auto last = rows_of(g, x, 3, 1);
  const auto y = g.emit<ops::ElementwiseBinary>({.in = {x, x}})[0];
  g.output("flat", flat);
  g.output("last", last);
  g.output("y", y);
  const auto p = compiled(g);
  const auto mapping = planned(p, {}, std::vector<std::uint64_t>(3));
  EXPECT_EQ(mapping.of(RegisterRef{1}).offset, mapping.of(RegisterRef{0}).offset);
  EXPECT_EQ(mapping.of(RegisterRef{2}).offset, mapping.of(RegisterRef{0}).offset + 3 * 128);
  EXPECT_EQ(mapping.of(RegisterRef{2}).size, 128u);
  EXPECT_EQ(mapping.arena_bytes, 2u * 512u);
}

TEST(Memory, WhatAViewShowsIsNotOverwritten) {
  // neg could be written over x, which dies with it, but the view of x is read later.
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  const auto row = rows_of(g, x, 1, 1);
  const auto n = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
  g.output("n", n);
  g.output("a", g.emit<ops::ElementwiseUnary>({.in = {row}, .params = {ops::UnaryKind::abs}})[0]);
  const auto p = compiled(g);
  const auto mapping = planned(p, {}, std::vector<std::uint64_t>(3));
  EXPECT_EQ(mapping.of(RegisterRef{1}).offset, mapping.of(RegisterRef{0}).offset + 128);
  EXPECT_NE(mapping.of(RegisterRef{2}).offset, mapping.of(RegisterRef{0}).offset);
  EXPECT_EQ(mapping.of(RegisterRef{3}).offset, mapping.of(RegisterRef{1}).offset) << "over the view, the last one";
}

TEST(Memory, ASmallViewHoldsOnlyItsOwnBytes) {
  // One row of x lives to the end; a value as large as the rest fits into what x had.
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {8, 32}});
  const auto row = rows_of(g, x, 7, 1);
  const auto small =
      g.emit<ops::Reduce>({.in = {x}, .params = ops::ReduceParams::last_axis(ops::ReduceKind::sum, 2)})[0];
  const auto wide = g.emit<ops::BroadcastTo>({.in = {small}, .params = {ShapeParams::of({8, 16})}})[0];
  g.output("row", row);
  g.output("wide", wide);
  const auto p = compiled(g);
  const auto mapping = planned(p, {}, std::vector<std::uint64_t>(3));
  EXPECT_EQ(mapping.arena_bytes, 1024u + 64u) << "x with the sums beside it; `wide` lies where x was";
  EXPECT_LT(mapping.of(RegisterRef{3}).offset, mapping.of(RegisterRef{1}).offset);
}

TEST(Memory, AViewThatWouldBeginOffTheAlignmentIsACopyWithALifeOfItsOwn) {
  // Row 1 of [4, 8] begins at byte 32. The copy is read after x has died.
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 8}});
  const auto row = rows_of(g, x, 1, 1);
  const auto soft =
      g.emit<ops::Linear>({.in = {x}, .w = {g.constant(std::vector<std::byte>(16 * 8 * 4), DType::f32, {16, 8})}})[0];
  g.output("soft", soft);
  g.output("twice", g.emit<ops::ElementwiseBinary>({.in = {row, row}})[0]);
  const auto p = compiled(g);
  const auto mapping = planned(p, {}, std::vector<std::uint64_t>(3));
  const plan::PhysicalSpec row_at = mapping.of(RegisterRef{1});
  const plan::PhysicalSpec soft_at = mapping.of(RegisterRef{2});
  EXPECT_TRUE(row_at.offset + row_at.size <= soft_at.offset || soft_at.offset + soft_at.size <= row_at.offset);
}

TEST(Memory, RowsOfATensorOfUnknownLengthAreViewsOnlyWhereTheyAlwaysLieThere) {
  ir::Builder g(*catalog_ops().table);
  const SymbolId tokens = g.symbol("tokens", 16);
  const auto by_token = g.input("t", {DType::f32, {Dim(1, tokens), 32}});
  const auto by_block = g.input("b", {DType::f32, {4, Dim(1, tokens), 32}});
  g.output("checked", rows_of(g, by_token, 2, 1));  // may lie outside, which the step reports
  g.output("moving", rows_of(g, by_block, 1, 1));   // begins where the number of tokens says
  g.output("first", rows_of(g, by_block, 0, 1));
  const auto p = compiled(g);
  const auto mapping = planned(p, extents(16, 1), std::vector<std::uint64_t>(3));
  std::vector<bool> views;
  for (std::size_t i = 0; i < 3; ++i) {
    const plan::Instruction insn = p.plan.instruction(i);
    views.push_back(plan::is_view(p.plan, insn, *(*catalog_ops().table)[number(insn.opcode)], mapping));
  }
  EXPECT_EQ(views, (std::vector<bool>{false, false, true}));
}

TEST(Memory, FitsAreWhatTheirNamesSay) {
  // a, b, c, d of 4, 1, 2 and 1 units side by side; a and c die; then a value of 2 units.
  ir::Builder g(*catalog_ops().table);
  const auto seed = g.input("seed", {DType::f32, {1, 1}});
  auto grow = [&](ir::ValueId from, std::uint32_t rows) {
    return g.emit<ops::BroadcastTo>({.in = {from}, .params = {ShapeParams::of({rows, 16})}})[0];
  };
  auto sum = [&](ir::ValueId x) { return g.emit<ops::Reduce>({.in = {x}, .params = {ops::ReduceKind::sum, 1, 1}})[0]; };
  const auto a = grow(seed, 4);
  const auto b = grow(seed, 1);
  const auto c = grow(seed, 2);
  const auto d = grow(seed, 1);
  const auto sums = g.emit<ops::ElementwiseBinary>({.in = {sum(a), sum(c)}})[0];
  g.output("e", grow(sums, 2));
  g.output("b", b);
  g.output("d", d);
  const auto p = compiled(g);
  const std::vector<std::uint64_t> scratch(p.plan.instructions.size());
  std::vector<std::uint64_t> at;
  std::vector<std::uint64_t> arena;
  for (const plan::Fit fit : {plan::Fit::first, plan::Fit::best, plan::Fit::least}) {
    const auto mapping = plan::plan_memory(p.plan, p.liveness, *catalog_ops().table, {}, scratch, {fit});
    ASSERT_TRUE(mapping) << mapping.error().text();
    ASSERT_TRUE(plan::check_memory(p.plan, *catalog_ops().table, {}, *mapping));
    at.push_back(mapping->of(p.plan.output("e")).offset);
    arena.push_back(mapping->arena_bytes);
    EXPECT_EQ(mapping->of(RegisterRef{1}).size, 256u);
  }
  EXPECT_LT(at[0], at[1]) << "the gap of four units comes first, that of two is the smallest";
  EXPECT_LE(arena[2], std::min(arena[0], arena[1]));
}

TEST(Memory, EveryAllocationMayFail) {
  const auto random = random_graph(11, 25);
  ASSERT_TRUE(random);
  auto p = plan::compile(random->graph, catalog_ops(), reference_claims());
  ASSERT_TRUE(p);
  const std::vector<std::uint64_t> scratch(p->plan.instructions.size(), 100);
  std::uint64_t failed = 0;
  for (std::uint64_t at = 0;; ++at) {
    CountingAllocator allocator;
    allocator.fail_at = at;
    p->plan.allocator = allocator.hook();
    bool done = false;
    {
      const auto mapping = plan::plan_memory(p->plan, p->liveness, *catalog_ops().table, extents(64, 8), scratch);
      const auto proof = mapping ? plan::check_memory(p->plan, *catalog_ops().table, extents(64, 8), *mapping)
                                 : Result<void>(pass(mapping));
      done = proof.has_value();
      if (!proof) {
        EXPECT_EQ(proof.error().code(), Errc::out_of_memory) << proof.error().text();
        ++failed;
      }
    }
    EXPECT_EQ(allocator.live, 0u) << at;
    if (done) break;
  }
  EXPECT_GE(failed, 30u);
}

TEST(Memory, TheProofFindsAViewThatIsNotThere) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  const auto row = rows_of(g, x, 1, 1);
  g.output("y", g.emit<ops::ElementwiseUnary>({.in = {x}})[0]);
  g.output("row", row);
  const auto p = compiled(g);
  const std::vector<std::uint64_t> scratch(2);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{256}}) {
    plan::PhysicalMapping mapping = planned(p, {}, scratch);
    mapping.physical_specs[mapping.register_to_physical[1]].offset = mapping.of(RegisterRef{0}).offset + offset;
    const auto r = plan::check_memory(p.plan, *catalog_ops().table, {}, mapping);
    ASSERT_FALSE(r) << offset;
    EXPECT_NE(r.error().text().find("registers 1 and 0 share memory"), std::string_view::npos) << r.error().text();
  }
  // A result over what a view still shows.
  plan::PhysicalMapping mapping = planned(p, {}, scratch);
  mapping.register_to_physical[2] = mapping.register_to_physical[0];
  const auto r = plan::check_memory(p.plan, *catalog_ops().table, {}, mapping);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().text().find("registers 2 and 1 share memory"), std::string_view::npos) << r.error().text();
}

TEST(Memory, WhatLiesOutsideTakesNoneOfTheArenaAndIsNotWritten) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  const auto y = g.input("y", {DType::f32, {4, 32}});
  const auto row = rows_of(g, x, 1, 1);
  const auto negative = g.emit<ops::ElementwiseUnary>({.in = {row}})[0];
  g.output("sum", g.emit<ops::ElementwiseBinary>({.in = {x, y}})[0]);
  g.output("negative", negative);
  const auto p = compiled(g);
  const std::vector<std::uint64_t> scratch(3);
  const std::vector<std::uint8_t> outside{1, 0, 0, 0, 0};
  const OpTable& table = *catalog_ops().table;
  const auto place = [&] {
    auto mapping = plan::plan_memory(p.plan, p.liveness, table, {}, scratch, {.outside = outside});
    EXPECT_TRUE(mapping);
    return std::move(*mapping);
  };
  const plan::PhysicalMapping whole = place();
  EXPECT_EQ(whole.arena_bytes, 512u + 128u) << "y with the sum over it, and the row";
  EXPECT_EQ(whole.outside_of(RegisterRef{2}), RegisterRef{0}) << "a view of what lies outside";
  EXPECT_EQ(whole.of(RegisterRef{2}).offset, 128u);
  EXPECT_EQ(whole.outside_of(RegisterRef{3}), plan::kNoRegister);
  const auto proof = plan::check_memory(p.plan, table, {}, whole, outside);
  EXPECT_TRUE(proof) << proof.error().text();

  const auto refused = [&](std::string_view text, std::span<const std::uint8_t> marks, auto harm) {
    plan::PhysicalMapping mapping = place();
    harm(mapping);
    const auto r = plan::check_memory(p.plan, table, {}, mapping, marks);
    ASSERT_FALSE(r) << text;
    EXPECT_NE(r.error().text().find(text), std::string_view::npos) << r.error().text();
  };
  using M = plan::PhysicalMapping&;
  refused("memory of register 0, which lies in the arena", {}, [](M) {});
  refused("register 3 is written into the memory of register 0", outside,
          [](M m) { m.outside[3] = RegisterRef{0}, m.register_to_physical[3] = m.register_to_physical[2]; });
  refused("in whose memory it lies, has 512", outside,
          [](M m) { m.physical_specs[m.register_to_physical[2]].offset = 448; });
  refused("not of this plan", outside, [](M m) { m.outside.pop_back(); });
}

TEST(Memory, TheProofFindsTwoOperandsThatAreOneMemory) {
  // Both are read, and each alone could be written over.
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  const auto same = g.emit<ops::Reshape>({.in = {x}, .params = {ShapeParams::of({4, 32})}})[0];
  g.output("y", g.emit<ops::ElementwiseBinary>({.in = {x, same}})[0]);
  const auto p = compiled(g);
  plan::PhysicalMapping mapping = planned(p, {}, std::vector<std::uint64_t>(2));
  EXPECT_NE(mapping.of(RegisterRef{2}).offset, mapping.of(RegisterRef{0}).offset);
  mapping.register_to_physical[2] = mapping.register_to_physical[0];
  EXPECT_FALSE(plan::check_memory(p.plan, *catalog_ops().table, {}, mapping));
}

TEST(Memory, PrefillAndDecodeAreOnePlanAtTwoSizes) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 512)), 32}});
  const auto w = g.emit<ops::Slice>({.in = {x}, .params = ops::SliceParams::of_last(g.type_of(x).shape, 0, 16)})[0];
  g.output("y", g.emit<ops::Softmax>({.in = {w}})[0]);
  const auto p = compiled(g);
  const auto prefill = planned(p, extents(512, 1), std::vector<std::uint64_t>(2));
  const auto decode = planned(p, extents(4, 1), std::vector<std::uint64_t>(2));
  EXPECT_EQ(prefill.physical_count, decode.physical_count);
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
  EXPECT_EQ(r.error().text(),
            "register 0, input x, f32 [2147483648*s1, 2147483648*s1]: the size of a register does not fit 64 bits");
}

TEST(Memory, AWorkspaceThatIsTooLargeIsNamedWithItsInstruction) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {8}});
  const auto y = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
  g.output("y", g.emit<ops::Softmax>({.in = {y}})[0]);
  const auto p = compiled(g);
  const std::vector<std::uint64_t> scratch{std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 64};
  const auto r = plan::plan_memory(p.plan, p.liveness, *catalog_ops().table, {}, scratch);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::size_overflow);
  EXPECT_EQ(
      r.error().text(),
      "the size of the arena does not fit 64 bits; most of the arena is 9223372036854775872 bytes of workspace of "
      "instruction 1 (softmax)");
}

TEST(Memory, AnArenaThatIsTooLargeNamesTheLargestOfItsRegisters) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {1}});
  auto y = x;
  for (const std::uint32_t rows : {0x7ffffffeu, 0x7fffffffu, 0x7ffffffeu}) {
    y = g.emit<ops::BroadcastTo>({.in = {x}, .params = {ShapeParams::of({rows, 0x40000000})}})[0];
    g.output(rows == 0x7fffffffu ? "most" : "more", y);
  }
  const auto p = compiled(g);
  const auto r = plan::plan_memory(p.plan, p.liveness, *catalog_ops().table, {}, std::vector<std::uint64_t>(3));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::size_overflow);
  EXPECT_EQ(r.error().text(),
            "the size of the arena does not fit 64 bits; most of the arena is 9223372032559808512 bytes of register 2, "
            "result y of instruction 1 (broadcast_to), f32 [2147483647, 1073741824]");
}

TEST(Memory, AResultThatIsTooLargeIsNamedWithItsInstruction) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {1, 1}});
  const auto y = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
  g.output("y",
           g.emit<ops::BroadcastTo>({.in = {y}, .params = {ShapeParams::of({0x20000, 0x20000, 0x20000, 0x20000})}})[0]);
  const auto p = compiled(g);
  const auto r = plan::plan_memory(p.plan, p.liveness, *catalog_ops().table, {}, std::vector<std::uint64_t>(2));
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().text().find("register 2, result y of instruction 1 (broadcast_to), f32 [131072, 131072, "),
            std::string_view::npos)
      << r.error().text();
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
      {"ranges overlap",
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
      {"a range smaller than its register", [](M m) { m.physical_specs[m.register_to_physical[0]].size = 500; },
       Errc::invalid_plan, "register 0 has 512 bytes, its range 500"},
      {"a range off its alignment", [](M m) { m.physical_specs[m.register_to_physical[0]].offset = 4; },
       Errc::invalid_plan, "at offset 4"},
      {"no such range", [](M m) { m.register_to_physical[4] = 77; }, Errc::invalid_plan, "no range"},
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
}  // namespace memory_test
