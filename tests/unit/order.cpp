// SPDX-License-Identifier: Apache-2.0
// tests/unit/order.cpp: the orders in which a plan runs a graph's nodes, and what they keep.
#include <zrt/core/heap.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/kv_write_batched.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <support/random_graph.hpp>

namespace order_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using plan::Ordering;

constexpr std::array kOrderings{Ordering::program, Ordering::freed_bytes, Ordering::lazy_rescore};

plan::CompiledPlan ordered(const ir::Graph& graph, Ordering ordering) {
  auto p = plan::compile(graph, catalog_ops(), reference_claims(), {.ordering = ordering});
  EXPECT_TRUE(p) << p.error().text();
  return p ? std::move(*p) : plan::CompiledPlan();
}

std::vector<std::string_view> names(const plan::CompiledPlan& p) {
  std::vector<std::string_view> names;
  for (const plan::InstructionRecord& r : p.plan.instructions)
    names.push_back((*catalog_ops().table)[number(r.opcode)]->name);
  return names;
}

std::uint64_t arena(const plan::CompiledPlan& p) {
  const std::vector<std::uint64_t> scratch(p.plan.instructions.size());
  const auto mapping = plan::plan_memory(p.plan, p.liveness, *catalog_ops().table, {}, scratch);
  EXPECT_TRUE(mapping) << mapping.error().text();
  return mapping ? mapping->arena_bytes : 0;
}

ir::ValueId reduce(ir::Builder& g, ir::ValueId x, ops::ReduceKind kind = ops::ReduceKind::sum) {
  return g.emit<ops::Reduce>({.in = {x}, .params = ops::ReduceParams::last_axis(kind, g.type_of(x).shape.rank)})[0];
}

TEST(Order, WhatFreesMemoryRunsBeforeWhatTakesMore) {
  // Six wide values, then a sum of each: as written, all six live at once.
  ir::Builder g(*catalog_ops().table);
  const auto seed = g.input("seed", {DType::f32, {1, 16}});
  std::vector<ir::ValueId> wide, sums;
  for (int i = 0; i < 6; ++i)
    wide.push_back(g.emit<ops::BroadcastTo>({.in = {seed}, .params = {ShapeParams::of({64, 16})}})[0]);
  for (const ir::ValueId w : wide) sums.push_back(reduce(g, w));
  for (std::size_t i = 0; i < sums.size(); ++i) g.output(Name::of("sum.", static_cast<unsigned>(i)), sums[i]);
  const auto graph = g.finish();
  ASSERT_TRUE(graph);
  EXPECT_GE(arena(ordered(*graph, Ordering::program)), 6u * 4096u);
  EXPECT_LE(arena(ordered(*graph, Ordering::freed_bytes)), 4096u + 7u * 256u);
  EXPECT_LE(arena(ordered(*graph, Ordering::lazy_rescore)), 4096u + 7u * 256u);
}

TEST(Order, OnlyTheLazyOrderSeesThatANodeHasBecomeTheLastReader) {
  // Once one of the reductions has run, the other frees x.
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {64, 64}});
  const auto a = reduce(g, x);
  const auto n = g.emit<ops::ElementwiseUnary>({.in = {a}})[0];
  const auto b = reduce(g, x, ops::ReduceKind::maximum);
  g.output("n", n);
  g.output("b", b);
  const auto graph = g.finish();
  ASSERT_TRUE(graph);
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(names(ordered(*graph, Ordering::freed_bytes)), (Names{"reduce", "elementwise_unary", "reduce"}));
  EXPECT_EQ(names(ordered(*graph, Ordering::lazy_rescore)), (Names{"reduce", "reduce", "elementwise_unary"}));
}

TEST(Order, NodesOnOneStateKeepTheirOrder) {
  // The second write could run at once and would free its operands; the first waits for a chain.
  ir::Builder g(*catalog_ops().table);
  const Dim tokens(1, g.symbol("tokens", 8));
  const auto x = g.input("x", {DType::f32, {tokens, 2}});
  const auto y = g.input("y", {DType::f32, {tokens, 2}});
  const auto state = g.state({StateLifecycle::kv_paged, DType::f32, 0, 0, {1, 2, 2, 0}});
  auto late = x;
  for (int i = 0; i < 3; ++i) late = g.emit<ops::ElementwiseUnary>({.in = {late}})[0];
  (void)g.emit<ops::KvWriteBatched>({.in = {late, late}, .state = state, .params = {1, 2, 2}});
  (void)g.emit<ops::KvWriteBatched>({.in = {y, y}, .state = state, .params = {1, 2, 2}});
  g.output("x", x);
  const auto graph = g.finish();
  ASSERT_TRUE(graph);
  for (const Ordering ordering : kOrderings) {
    const plan::CompiledPlan p = ordered(*graph, ordering);
    std::vector<plan::RegisterRef> written;
    for (std::size_t i = 0; i < p.plan.instructions.size(); ++i)
      if (p.plan.instructions[i].opcode == ops::KvWriteBatched::opcode)
        written.push_back(p.plan.instruction(i).inputs[0]);
    ASSERT_EQ(written.size(), 2u);
    EXPECT_NE(written[0], p.plan.input("y"));
    EXPECT_EQ(written[1], p.plan.input("y"));
  }
}

TEST(Order, AValueIsReadBeforeItIsMarkedAsWrittenOver) {
  // The sum over x and w could run first, and frees w; it is marked to be written over x.
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {64, 16}});
  const auto w = g.input("w", {DType::f32, {64, 16}});
  const auto z = g.input("z", {DType::f32, {64, 16}});
  auto chain = z;
  for (int i = 0; i < 2; ++i) chain = g.emit<ops::ElementwiseUnary>({.in = {chain}})[0];
  const auto read = g.emit<ops::ResidualAdd>({.in = {x, chain}})[0];
  const auto over = g.emit<ops::ElementwiseBinary>({.in = {x, w}})[0];
  g.in_place(0, 0);
  g.output("z", z);
  g.output("read", read);
  g.output("over", over);
  const auto graph = g.finish();
  ASSERT_TRUE(graph);
  for (const Ordering ordering : kOrderings)
    EXPECT_EQ(names(ordered(*graph, ordering)).back(), "elementwise_binary") << static_cast<int>(ordering);
}

/// Each value once, whoever reads it after whoever makes it.
TEST(Order, EveryOrderRunsEveryNodeOnceAfterItsOperandsAndIsTheSameEveryTime) {
  for (std::uint32_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    const auto random = random_graph(seed, 4 + seed % 60);
    ASSERT_TRUE(random) << random.error().text();
    auto sorted = names(ordered(random->graph, Ordering::program));
    std::ranges::sort(sorted);
    for (const Ordering ordering : kOrderings) {
      const plan::CompiledPlan p = ordered(random->graph, ordering);
      const plan::CompiledPlan again = ordered(random->graph, ordering);
      EXPECT_TRUE(std::ranges::equal(p.plan.register_refs, again.plan.register_refs));
      EXPECT_EQ(names(p), names(again));
      auto mine = names(p);
      std::ranges::sort(mine);
      EXPECT_EQ(mine, sorted);
      std::vector<bool> made(p.plan.registers.size());
      for (const plan::PlanPort& port : p.plan.inputs) made[plan::index(port.reg)] = true;
      for (std::size_t i = 0; i < p.plan.instructions.size(); ++i) {
        for (plan::RegisterRef r : p.plan.instruction(i).inputs)
          EXPECT_TRUE(r == plan::kNoRegister || made[plan::index(r)]);
        for (plan::RegisterRef r : p.plan.instruction(i).outputs) {
          EXPECT_FALSE(made[plan::index(r)]);
          made[plan::index(r)] = true;
        }
      }
    }
  }
}

TEST(Order, HeapSortSorts) {
  std::mt19937 random(3);
  for (std::size_t count = 0; count < 200; ++count) {
    std::vector<std::uint32_t> values(count);
    for (std::uint32_t& v : values) v = static_cast<std::uint32_t>(random() % 50);
    std::vector<std::uint32_t> expected = values;
    std::ranges::sort(expected);
    heap_sort(Span(values), [](std::uint32_t a, std::uint32_t b) noexcept { return a < b; });
    EXPECT_EQ(values, expected);
  }
}

}  // namespace
}  // namespace order_test
