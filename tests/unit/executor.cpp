// SPDX-License-Identifier: Apache-2.0
// tests/unit/executor.cpp: steps over a plan bound at two sizes, what they count, and what they refuse.
#include <zrt/exec/executor.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <support/random_graph.hpp>
#include <support/toy_backend.hpp>

namespace executor_test {
namespace {

using namespace zrt;
using namespace zrt::test;

/// A decoder without a model: logits = -(-bias), two instructions.
plan::CompiledPlan twice_negated() {
  ir::Builder g(*catalog_ops().table);
  const SymbolId tokens = g.symbol(exec::port::kTokens, 64);
  const SymbolId rows = g.symbol(exec::port::kRows, 64);
  (void)g.input(exec::port::kTokens, {DType::ui32, {Dim(1, tokens)}});
  (void)g.input(exec::port::kPositions, {DType::ui32, {Dim(1, tokens)}});
  (void)g.input(exec::port::kRows, {DType::ui32, {Dim(1, rows)}});
  const auto bias = g.input(exec::port::kBias, {DType::f32, {Dim(1, rows), 4}});
  const auto negated = g.emit<ops::ElementwiseUnary>({.in = {bias}})[0];
  g.output(exec::port::kLogits, g.emit<ops::ElementwiseUnary>({.in = {negated}})[0]);
  auto compiled = plan::compile(*g.finish(), catalog_ops(), OpSet::of(toy::Backend::Claims{}));
  EXPECT_TRUE(compiled) << compiled.error().text();
  return compiled ? std::move(*compiled) : plan::CompiledPlan();
}

class ExecutorTest : public testing::Test {
 protected:
  ExecutorTest() {
    auto made = exec::Executor<toy::Backend>::make(plan::ModelPlans::of(plan_), *catalog_ops().table, {},
                                                   {2, 16, 2, 4, 2}, device_);
    EXPECT_TRUE(made) << made.error().text();
    executor_.emplace(std::move(*made));
  }
  /// One token of slot 0 whose row gets `bias_`.
  [[nodiscard]] exec::Batch batch(bool prefill) const {
    exec::Batch b;
    b.tokens = b.slots = b.positions = b.rows = zero_;
    b.bias = bias_;
    b.pages = pages_.data();
    b.prefill = prefill;
    return b;
  }

  plan::CompiledPlan plan_ = twice_negated();
  toy::Device device_;
  std::optional<exec::Executor<toy::Backend>> executor_;
  std::array<std::uint32_t, 1> zero_{};
  std::array<float, 4> bias_{1, -2, 3, -4};
  std::array<std::uint32_t, 4> pages_{};
};

TEST_F(ExecutorTest, CompletedStepsAreCountedAndHaltedOnesAreNot) {
  EXPECT_EQ(executor_->counters().total_instructions, 0u);
  std::array<float, 4> logits{};
  for (std::uint64_t steps = 1; steps <= 4; ++steps) {
    const auto done = executor_->step(batch(steps % 2 == 0));
    ASSERT_TRUE(done && *done);
    ASSERT_TRUE(executor_->read(exec::port::kLogits, 0, std::as_writable_bytes(std::span(logits))));
    EXPECT_EQ(logits, bias_);
    const exec::DispatchCounters counters = executor_->counters();
    EXPECT_EQ(counters.total_instructions, 2 * steps);
    EXPECT_EQ(counters.per_opcode[number(ops::ElementwiseUnary::opcode)], 2 * steps);
    EXPECT_EQ(counters.launches, 2 * steps);
  }
  for (const bool prefill : {false, true}) {
    const auto halted = executor_->step(batch(prefill), {nullptr, [](const void*) noexcept { return true; }});
    ASSERT_TRUE(halted);
    EXPECT_FALSE(*halted);
    EXPECT_EQ(executor_->counters().total_instructions, 8u);
    EXPECT_EQ(executor_->counters().launches, 8u);
  }
}

TEST_F(ExecutorTest, StagesThatDoNotFitAreRefusedBeforeAnythingIsBound) {
  const auto make = [&](const plan::ModelPlans& stages) {
    const auto made = exec::Executor<toy::Backend>::make(stages, *catalog_ops().table, {}, {2, 16, 2, 4, 2}, device_);
    return made ? Errc::ok : made.error().code();
  };
  EXPECT_EQ(make(plan::ModelPlans::of(plan_)), Errc::ok);
  EXPECT_EQ(make({.decoder_prefill = &plan_}), Errc::stage_handoff);
  // This decoder takes no embeddings, so no vision stage can come before it.
  const plan::CompiledPlan before = twice_negated();
  EXPECT_EQ(make({&before, &before, &plan_, &plan_}), Errc::stage_handoff);
}

TEST_F(ExecutorTest, WhatTheRecordHoldsIsWhatIsLaunched) {
  ASSERT_TRUE(executor_->step(batch(false)));
  ASSERT_TRUE(executor_->step(batch(true)));
  EXPECT_EQ(executor_->decode_plan().program().launches(), executor_->decode_plan().program().size());
  EXPECT_EQ(executor_->prefill_plan().program().launches(), executor_->prefill_plan().program().size());
}

TEST_F(ExecutorTest, ReadsStayInsideTheOutput) {
  ASSERT_TRUE(executor_->step(batch(false)));
  std::array<std::byte, 33> bytes{};
  // Two rows of four floats, although the step has one row.
  EXPECT_TRUE(executor_->read(exec::port::kLogits, 0, std::span(bytes).first(32)));
  EXPECT_TRUE(executor_->read(exec::port::kLogits, 32, {}));
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{33}, ~std::uint64_t{0}}) {
    const auto r = executor_->read(exec::port::kLogits, offset, bytes);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::invalid_argument);
  }
  EXPECT_EQ(executor_->read("no such output", 0, bytes).error().code(), Errc::not_found);
}

TEST_F(ExecutorTest, ABatchAboveTheSizesIsRefused) {
  std::array<std::uint32_t, 3> three{};
  exec::Batch b = batch(false);
  b.tokens = b.slots = b.positions = three;
  EXPECT_EQ(executor_->step(b).error().code(), Errc::invalid_argument) << "two slots, three tokens";
  b.prefill = true;
  EXPECT_TRUE(executor_->step(b));
  three[2] = 2;
  EXPECT_EQ(executor_->step(b).error().code(), Errc::invalid_argument) << "slot 2 and position 2";
  std::array<std::uint32_t, 1> far{32};
  b = batch(false);
  b.positions = far;
  EXPECT_EQ(executor_->step(b).error().code(), Errc::invalid_argument) << "two pages of 16";
  std::array<float, 5> wide{};
  b = batch(false);
  b.bias = wide;
  EXPECT_EQ(executor_->step(b).error().code(), Errc::invalid_argument) << "one row of four";
}

}  // namespace
}  // namespace executor_test
