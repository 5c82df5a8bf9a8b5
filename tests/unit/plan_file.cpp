// SPDX-License-Identifier: Apache-2.0
// tests/unit/plan_file.cpp: plans written, read, damaged, and run again.
#include <zrt/ops/kv_write_batched.hpp>
#include <zrt/plan/memory.hpp>
#include <zrt/plan/read_plan.hpp>
#include <zrt/plan/write_plan.hpp>

#include <gtest/gtest.h>

#include <set>
#include <support/random_graph.hpp>
#include <tools/gguf_counting_allocator.hpp>

namespace plan_file_test {
namespace {

using namespace zrt;
using namespace zrt::test;

/// Linear with a constant bias, a state, a dead output, an expanded op: every section has entries.
Result<plan::CompiledPlan> small_plan(const Weights& weights, Allocator allocator = system_allocator()) {
  ir::Builder g(*catalog_ops().table, allocator, weights.lookup());
  const SymbolId tokens = g.symbol("tokens", 4);
  const auto x = g.input("x", {DType::f32, {Dim(1, tokens), 32}});
  const std::array<float, 2> bias{0.5f, -1.5f};
  const auto w = g.weight("w", {2, 32});
  const auto b = g.constant(bias);
  const auto k = g.emit<ops::Linear>({.in = {x}, .w = {w, b}})[0];
  const auto both = g.emit<ops::ResidualRmsNorm>({.in = {k, k}, .params = {.norm = {.dim = 2}}});
  const auto state = g.state({StateLifecycle::kv_paged, DType::f16, 0, 0, {1, 2, 2, 0}});
  (void)g.emit<ops::KvWriteBatched>({.in = {k, k}, .state = state, .params = {1, 2, 2}});
  g.output("sum", both[0]);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  OpSet claims;
  for (Opcode op :
       {ops::Linear::opcode, ops::KvWriteBatched::opcode, ops::ResidualAdd::opcode, ops::ResidualRmsNorm::opcode})
    claims.insert(op);
  return plan::compile(*graph, catalog_ops(), claims);
}

Weights small_weights() {
  std::mt19937 random(3);
  Weights weights;
  weights.add_random("w", DType::q8_0, 2, 32, random);
  return weights;
}

void expect_same(const plan::CompiledPlan& a, const plan::CompiledPlan& b) {
  const auto x = plan::write_plan(a);
  const auto y = plan::write_plan(b);
  ASSERT_TRUE(x && y);
  EXPECT_TRUE(std::ranges::equal(*x, *y));
  EXPECT_EQ(a.peak_registers, b.peak_registers);
  EXPECT_TRUE(std::ranges::equal(a.liveness.register_last_read, b.liveness.register_last_read));
  EXPECT_TRUE(std::ranges::equal(a.liveness.register_first_write, b.liveness.register_first_write));
  EXPECT_TRUE(std::ranges::equal(a.liveness.kill_offsets, b.liveness.kill_offsets));
  EXPECT_TRUE(std::ranges::equal(a.liveness.kill_registers, b.liveness.kill_registers));
  ASSERT_EQ(a.diagnostics.size(), b.diagnostics.size());
}

TEST(PlanFile, RoundTripOfEverySection) {
  const Weights weights = small_weights();
  const auto plan = small_plan(weights);
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_FALSE(plan->plan.constants.empty());
  ASSERT_FALSE(plan->plan.states.empty());
  ASSERT_FALSE(plan->diagnostics.empty());
  const auto bytes = plan::write_plan(*plan);
  ASSERT_TRUE(bytes);
  const auto read = plan::read_plan(bytes->span(), *catalog_ops().table);
  ASSERT_TRUE(read) << read.error().text();
  expect_same(*plan, *read);
  EXPECT_EQ(read->plan.weights[0].name.view(), "w");
  EXPECT_EQ(read->plan.weights[0].dtype, DType::q8_0);
  EXPECT_EQ(read->plan.symbols[0].bound, 4u);
  EXPECT_EQ(read->plan.states[0].info, plan->plan.states[0].info);
  EXPECT_EQ(read->plan.input("x"), plan->plan.input("x"));
  EXPECT_EQ(read->plan.output("sum"), plan->plan.output("sum"));
}

TEST(PlanFile, HeaderIsAsDocumented) {
  const Weights weights = small_weights();
  const auto plan = small_plan(weights);
  const auto bytes = plan::write_plan(*plan);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(std::memcmp(bytes->data(), "ZRTPLAN\0\3\0\0\0\x0e\0\0\0", 16), 0);
  // The first section is the instructions: kind 0, alignment 8, right after the table.
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < 8; ++i) offset |= std::to_integer<std::uint64_t>((*bytes)[32 + i]) << 8 * i;
  EXPECT_EQ(offset, 24u + 14u * 32u);
  EXPECT_EQ(std::to_integer<unsigned>((*bytes)[offset]), number(ops::Linear::opcode));
}

TEST(PlanFile, RandomPlansRunToTheSameBits) {
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const auto graph = random_graph(seed + 50000, 3 + seed % 30);
    ASSERT_TRUE(graph);
    const auto plan = plan::compile(graph->graph, catalog_ops(), reference_claims());
    ASSERT_TRUE(plan);
    const auto bytes = plan::write_plan(*plan);
    ASSERT_TRUE(bytes);
    const auto read = plan::read_plan(bytes->span(), *catalog_ops().table);
    ASSERT_TRUE(read) << read.error().text();
    expect_same(*plan, *read);
    std::mt19937 random(seed);
    const StepData step = random_step(plan->plan, extents(8, 4), extents(1 + random() % 8, 1 + random() % 4), random);
    const auto before = run_planned(*plan, graph->weights.source(), step);
    const auto after = run_planned(*read, graph->weights.source(), step);
    ASSERT_TRUE(before && after);
    EXPECT_TRUE(*before == *after);
  }
}

TEST(PlanFile, EveryTruncationIsATypedError) {
  const Weights weights = small_weights();
  const auto plan = small_plan(weights);
  const auto bytes = plan::write_plan(*plan);
  ASSERT_TRUE(bytes);
  for (std::size_t size = 0; size < bytes->size(); ++size) {
    const Bytes cut(bytes->begin(), bytes->begin() + size);
    const auto r = plan::read_plan(cut, *catalog_ops().table);
    ASSERT_FALSE(r) << size;
    EXPECT_EQ(r.error().code(), Errc::truncated_file) << size << ": " << r.error().text();
    EXPECT_LE(r.error().offset(), size);
  }
  Bytes longer(bytes->begin(), bytes->end());
  longer.push_back(std::byte{0});
  EXPECT_EQ(plan::read_plan(longer, *catalog_ops().table).error().code(), Errc::invalid_file);
}

TEST(PlanFile, EveryByteChangeIsAPlanOrATypedError) {
  const Weights weights = small_weights();
  const auto plan = small_plan(weights);
  const auto bytes = plan::write_plan(*plan);
  ASSERT_TRUE(bytes);
  const auto scratch_of = [](const plan::CompiledPlan& p) {
    return std::vector<std::uint64_t>(p.plan.instructions.size());
  };
  std::set<std::string> texts;
  std::set<Errc> codes;
  std::size_t fine = 0;
  for (std::size_t at = 0; at < bytes->size(); ++at) {
    for (unsigned change : {1u, 2u, 0x10u, 0x80u, 0xffu, 0x7fu}) {
      Bytes damaged(bytes->begin(), bytes->end());
      damaged[at] ^= static_cast<std::byte>(change);
      const auto r = plan::read_plan(damaged, *catalog_ops().table);
      if (r) {
        ++fine;
        // What is let through can be planned, or is too large to be.
        const Extents bounds = extents(4, 4);
        const auto mapping = plan::plan_memory(r->plan, r->liveness, *catalog_ops().table, bounds, scratch_of(*r));
        if (mapping) {
          EXPECT_TRUE(plan::check_memory(r->plan, *catalog_ops().table, bounds, *mapping)) << at;
        }
        const auto again = plan::write_plan(*r);
        ASSERT_TRUE(again);
        EXPECT_TRUE(std::ranges::equal(*again, damaged)) << "one plan has one file, byte " << at;
      } else {
        EXPECT_NE(r.error().offset(), Error::kNoOffset) << r.error().text();
        EXPECT_LE(r.error().offset(), damaged.size());
        EXPECT_FALSE(r.error().text().empty());
        codes.insert(r.error().code());
        texts.insert(std::string(r.error().text()));
      }
    }
  }
  // Names, constants, floats and unused extents may change; most other bytes may not.
  EXPECT_LT(fine, bytes->size() * 3);
  EXPECT_GE(codes.size(), 10u);
  EXPECT_GE(texts.size(), 100u);
}

TEST(PlanFile, VersionAndMagic) {
  const Weights weights = small_weights();
  const auto bytes = plan::write_plan(*small_plan(weights));
  ASSERT_TRUE(bytes);
  Bytes other(bytes->begin(), bytes->end());
  other[8] = std::byte{4};
  auto r = plan::read_plan(other, *catalog_ops().table);
  EXPECT_EQ(r.error().code(), Errc::unsupported_version);
  EXPECT_EQ(r.error().offset(), 12u);
  EXPECT_NE(r.error().text().find("version 4, expected 3"), std::string_view::npos);
  other[8] = std::byte{3};
  other[0] = std::byte{'X'};
  r = plan::read_plan(other, *catalog_ops().table);
  EXPECT_EQ(r.error().code(), Errc::invalid_file);
}

TEST(PlanFile, AbsurdCountsTakeNoMemory) {
  const Weights weights = small_weights();
  const auto bytes = plan::write_plan(*small_plan(weights));
  ASSERT_TRUE(bytes);
  for (std::size_t section = 0; section < 13; ++section) {
    Bytes huge(bytes->begin(), bytes->end());
    for (std::size_t i = 16; i < 32; ++i) huge[24 + section * 32 + i] = std::byte{0x7f};
    CountingAllocator allocator;
    const auto r = plan::read_plan(huge, *catalog_ops().table, allocator.hook());
    ASSERT_FALSE(r);
    // A section of raw bytes has no count to contradict: it is found to be longer than the file.
    EXPECT_TRUE(r.error().code() == Errc::invalid_file || r.error().code() == Errc::truncated_file);
    EXPECT_NE(r.error().offset(), Error::kNoOffset);
    EXPECT_LT(allocator.peak, 64u * 1024u);
    EXPECT_EQ(allocator.live, 0u);
  }
}

TEST(PlanFile, EveryAllocationMayFail) {
  const Weights weights = small_weights();
  const auto good = plan::write_plan(*small_plan(weights));
  ASSERT_TRUE(good);
  std::uint64_t failed = 0;
  for (std::uint64_t at = 0;; ++at) {
    CountingAllocator allocator;
    allocator.fail_at = at;
    {
      const auto read = plan::read_plan(good->span(), *catalog_ops().table, allocator.hook());
      if (!read) {
        EXPECT_EQ(read.error().code(), Errc::out_of_memory) << read.error().text();
        ++failed;
      } else {
        const auto written = plan::write_plan(*read);
        if (written) break;
        EXPECT_EQ(written.error().code(), Errc::out_of_memory);
        ++failed;
      }
    }
    EXPECT_EQ(allocator.live, 0u) << at;
  }
  EXPECT_GE(failed, 20u);
}

}  // namespace
}  // namespace plan_file_test
