// SPDX-License-Identifier: Apache-2.0
// tests/unit/bind.cpp: everything that can fail between a plan and its program fails with a typed error.
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <support/random_graph.hpp>
#include <support/toy_backend.hpp>
#include <tools/gguf_counting_allocator.hpp>

namespace bind_test {
namespace {

using namespace zrt;
using namespace zrt::test;

constexpr OpSet kToyClaims = OpSet::of(toy::Backend::Claims{});

Weights weights_of(DType dtype, std::uint32_t rows, std::uint32_t cols) {
  std::mt19937 random(9);
  Weights weights;
  weights.add_random("w", dtype, rows, cols, random);
  return weights;
}

/// y = linear(x, w + constant bias), w q8_0 [64, 32].
Result<plan::CompiledPlan> linear_plan(Allocator allocator = system_allocator()) {
  const Weights weights = weights_of(DType::q8_0, 64, 32);
  ir::Builder g(*catalog_ops().table, allocator, weights.lookup());
  const std::array<float, 64> bias{};
  const auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 8)), 32}});
  const auto y = g.emit<ops::Linear>({.in = {x}, .w = {g.weight("w", {64, 32}), g.constant(bias)}})[0];
  g.output("y", g.emit<ops::GatedAct>({.in = {y, {}}})[0]);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  return plan::compile(*graph, catalog_ops(), kToyClaims);
}

Error weight_error(const exec::WeightSource& source) {
  const auto plan = linear_plan();
  EXPECT_TRUE(plan);
  toy::Device device;
  const auto bound = exec::bind_weights<toy::Backend>(plan->plan, source, device);
  EXPECT_FALSE(bound);
  return bound ? Error() : bound.error();
}

TEST(Bind, WeightsAreCheckedAgainstThePlan) {
  {
    const Weights none;
    const Error e = weight_error(none.source());
    EXPECT_EQ(e.code(), Errc::missing_weight);
    EXPECT_NE(e.text().find("w"), std::string_view::npos);
  }
  EXPECT_EQ(weight_error({}).code(), Errc::missing_weight);
  {
    const Weights other = weights_of(DType::q4_0, 64, 32);
    const Error e = weight_error(other.source());
    EXPECT_EQ(e.code(), Errc::dtype_mismatch);
    EXPECT_NE(e.text().find("weight w is q4_0, the plan was compiled for q8_0"), std::string_view::npos) << e.text();
  }
  {
    const Weights other = weights_of(DType::q8_0, 32, 64);
    const Error e = weight_error(other.source());
    EXPECT_EQ(e.code(), Errc::shape_mismatch);
    EXPECT_NE(e.text().find("weight w"), std::string_view::npos) << e.text();
  }
  {
    Weights other;
    other.add("w", DType::q8_0, {64, 32}, Bytes(64 * 34 - 1));
    EXPECT_EQ(weight_error(other.source()).code(), Errc::shape_mismatch);
  }
}

TEST(Bind, AFileMayGiveAWeightFirstAxesOfOne) {
  Weights file;
  file.add("w", DType::q8_0, {1, 64, 32}, Bytes(64 * 34));
  ir::Builder g(*catalog_ops().table, system_allocator(), file.lookup());
  EXPECT_NE(g.weight("w", {64, 32}), ir::WeightId{});
  const auto plan = linear_plan();
  ASSERT_TRUE(plan);
  toy::Device device;
  const auto bound = exec::bind_weights<toy::Backend>(plan->plan, file.source(), device);
  EXPECT_TRUE(bound) << bound.error().text();
}

TEST(Bind, ParameterBlocksAreCheckedWhileRecording) {
  const Weights weights = weights_of(DType::q8_0, 64, 32);
  for (int which = 0; which < 3; ++which) {
    auto plan = linear_plan();
    ASSERT_TRUE(plan);
    plan::ParamRecord& block = plan->plan.params[1];
    if (which == 0) block.version = 7;
    if (which == 1) block.bytes = 0;
    if (which == 2) block.opcode = ops::Linear::opcode;
    toy::Device device;
    auto bound = exec::bind_weights<toy::Backend>(plan->plan, weights.source(), device);
    auto states = exec::StateStore<toy::Backend>::make(plan->plan, device, 0, 0);
    ASSERT_TRUE(bound && states);
    const auto r = exec::bind<toy::Backend>(*plan, *catalog_ops().table, *bound, *states, {extents(8, 1), 1}, device);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::invalid_param_block_abi);
    EXPECT_EQ(r.error().instruction(), 1u);
    EXPECT_EQ(r.error().opcode(), number(ops::GatedAct::opcode));
    EXPECT_NE(r.error().text().find("gated_act"), std::string_view::npos);
  }
}

TEST(Bind, OnePlanAtTwoSizes) {
  const Weights weights = weights_of(DType::q8_0, 64, 32);
  const auto plan = linear_plan();
  toy::Device device;
  auto bound = exec::bind_weights<toy::Backend>(plan->plan, weights.source(), device);
  auto states = exec::StateStore<toy::Backend>::make(plan->plan, device, 0, 0);
  ASSERT_TRUE(bound && states);
  // The weights are uploaded once and serve both programs.
  const std::uint64_t uploads = device.uploads();
  auto prefill = exec::bind<toy::Backend>(*plan, *catalog_ops().table, *bound, *states, {extents(8, 1), 1}, device);
  auto decode = exec::bind<toy::Backend>(*plan, *catalog_ops().table, *bound, *states, {extents(1, 1), 1}, device);
  ASSERT_TRUE(prefill && decode);
  EXPECT_EQ(device.uploads(), uploads);
  EXPECT_GT(prefill->mapping().arena_bytes, decode->mapping().arena_bytes);
  std::mt19937 random(2);
  const Bytes row = random_floats(32, random);
  std::array<Bytes, 2> results;
  for (std::size_t i = 0; i < 2; ++i) {
    auto& program = i == 0 ? *prefill : *decode;
    const toy::Tensor x = program.tensor(plan->plan.input("x"));
    ASSERT_TRUE(device.write(x, row));
    ExecutionContext step;
    step.extents = extents(1, 1);
    ASSERT_TRUE(program.program().launch(device, step, {}));
    results[i].resize(64 * 4);
    const toy::Tensor y = program.tensor(plan->plan.output("y"));
    ASSERT_TRUE(device.read(y, 0, results[i]));
  }
  EXPECT_TRUE(results[0] == results[1]);
}

/// a, b = x[:, :16], x[:, 16:]; y = -a - b: two registers live at once.
Result<plan::CompiledPlan> two_live(Validation level) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  const auto a = g.emit<ops::Slice>({.in = {x}, .params = ops::SliceParams::of_last(g.type_of(x).shape, 0, 16)})[0];
  const auto b = g.emit<ops::Slice>({.in = {x}, .params = ops::SliceParams::of_last(g.type_of(x).shape, 16, 16)})[0];
  g.output("y", g.emit<ops::ElementwiseBinary>({.in = {a, b}})[0]);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  return plan::compile(*graph, catalog_ops(), kToyClaims, {ActPolicy::weight, level});
}

TEST(Bind, ThePlannedMemoryIsProvenAsTheLevelSays) {
  for (const Validation level : {Validation::strict, Validation::normal, Validation::none}) {
    auto plan = two_live(level);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ(plan->validation, level);
    toy::Device device;
    auto weights = exec::bind_weights<toy::Backend>(plan->plan, {}, device);
    auto states = exec::StateStore<toy::Backend>::make(plan->plan, device, 0, 0);
    auto at_level = [&] {
      return exec::bind<toy::Backend>(*plan, *catalog_ops().table, *weights, *states, {}, device);
    };
    EXPECT_TRUE(at_level());
    // The planner believes that the first half dies as soon as it is written, and reuses its bytes.
    ASSERT_EQ(plan->liveness.register_last_read[1], 2u);
    plan->liveness.register_last_read[1] = 0;
    const auto r = at_level();
    if (level == Validation::none) {
      EXPECT_TRUE(r);
      continue;
    }
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::overlapping_writers);
    EXPECT_EQ(r.error().instruction(), 1u);
    EXPECT_NE(r.error().text().find("registers 2 and 1 share memory"), std::string_view::npos) << r.error().text();
  }
}

TEST(Bind, EveryAllocationFromGraphToProgramMayFail) {
  const Weights weights = weights_of(DType::q8_0, 64, 32);
  std::uint64_t failed = 0;
  int of_arena = 0;
  for (std::uint64_t at = 0;; ++at) {
    CountingAllocator allocator;
    allocator.fail_at = at;
    bool done = false;
    {
      auto attempt = [&]() -> Result<void> {
        auto plan = linear_plan(allocator.hook());
        if (!plan) return pass(plan);
        toy::Device device(allocator.hook());
        auto bound = exec::bind_weights<toy::Backend>(plan->plan, weights.source(), device);
        if (!bound) return pass(bound);
        auto states = exec::StateStore<toy::Backend>::make(plan->plan, device, 0, 0);
        if (!states) return pass(states);
        auto program =
            exec::bind<toy::Backend>(*plan, *catalog_ops().table, *bound, *states, {extents(8, 1), 1}, device);
        if (!program) return pass(program);
        const std::uint64_t before = allocator.made;
        ExecutionContext step;
        step.extents = extents(8, 1);
        auto r = program->program().launch(device, step, {});
        if (!r) return pass(r);
        EXPECT_EQ(allocator.made, before) << "a step allocates nothing";
        return {};
      };
      const auto r = attempt();
      done = r.has_value();
      if (!r) {
        EXPECT_EQ(r.error().code(), Errc::out_of_memory) << r.error().text();
        of_arena += r.error().text().find("; most of the arena is ") != std::string_view::npos ? 1 : 0;
        ++failed;
      }
    }
    EXPECT_EQ(allocator.live, 0u) << at;
    if (done) break;
  }
  EXPECT_GE(failed, 40u);
  EXPECT_EQ(of_arena, 1);
}

}  // namespace
}  // namespace bind_test
