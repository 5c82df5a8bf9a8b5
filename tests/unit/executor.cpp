// SPDX-License-Identifier: Apache-2.0
// tests/unit/executor.cpp: steps over a plan bound at two sizes, what they count, and what they refuse.
#include <zrt/exec/executor.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <support/random_graph.hpp>
#include <support/toy_backend.hpp>
#include <vector>

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

/// The same, and two numbers of each token into pages, which `window` positions see.
plan::CompiledPlan with_pages(std::uint32_t window = 0) {
  ir::Builder g(*catalog_ops().table);
  const SymbolId tokens = g.symbol(exec::port::kTokens, 64);
  const SymbolId rows = g.symbol(exec::port::kRows, 64);
  (void)g.input(exec::port::kTokens, {DType::ui32, {Dim(1, tokens)}});
  (void)g.input(exec::port::kPositions, {DType::ui32, {Dim(1, tokens)}});
  (void)g.input(exec::port::kRows, {DType::ui32, {Dim(1, rows)}});
  const auto k = g.input("k", {DType::f32, {Dim(1, tokens), 2}});
  const auto state = g.state({StateLifecycle::kv_paged, DType::f32, 0, 0, {1, 2, 2, window}});
  (void)g.emit<ops::KvWriteBatched>({.in = {k, k}, .state = state, .params = {1, 2, 2}});
  const auto bias = g.input(exec::port::kBias, {DType::f32, {Dim(1, rows), 4}});
  g.output(exec::port::kLogits, g.emit<ops::ElementwiseUnary>({.in = {bias}})[0]);
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

TEST_F(ExecutorTest, ARowOfTheHeadThatTheBatchDoesNotHaveIsRefused) {
  std::array<std::uint32_t, 1> second{1};
  exec::Batch b = batch(false);
  b.rows = second;
  const auto r = executor_->step(b);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::invalid_argument);
  EXPECT_EQ(r.error().text(), "row 0 of the LM head is row 1 of a batch of 1");
}

/// A step over rows of the given slots and positions.
Result<bool> step_over(exec::Executor<toy::Backend>& executor, std::initializer_list<std::array<std::uint32_t, 2>> rows,
                       std::span<const std::uint32_t> pages) {
  std::array<std::vector<std::uint32_t>, 2> columns;
  for (const auto& row : rows)
    for (const std::size_t i : {0u, 1u}) columns[i].push_back(row[i]);
  const auto& [slots, positions] = columns;
  exec::Batch b;
  b.tokens = b.slots = slots;
  b.positions = positions;
  b.pages = pages.data();
  b.prefill = true;
  return executor.step(b);
}

/// Two slots of two pages each, of four pages.
class PagedExecutorTest : public testing::Test {
 protected:
  PagedExecutorTest() {
    auto made = exec::Executor<toy::Backend>::make(plan::ModelPlans::of(plan_), *catalog_ops().table, {},
                                                   {2, 32, 2, 4, 2}, device_);
    EXPECT_TRUE(made) << made.error().text();
    executor_.emplace(std::move(*made));
  }
  Result<bool> step(std::initializer_list<std::array<std::uint32_t, 2>> rows, std::array<std::uint32_t, 4> pages) {
    return step_over(*executor_, rows, pages);
  }
  void refused(const Result<bool>& r, Errc code, std::string_view text) {
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().code(), code) << r.error().text();
    EXPECT_EQ(r.error().text(), text);
  }

  plan::CompiledPlan plan_ = with_pages();
  toy::Device device_;
  std::optional<exec::Executor<toy::Backend>> executor_;
};

TEST_F(PagedExecutorTest, PageIdsAreCheckedAsFarAsAStepReads) {
  constexpr std::uint32_t none = ~std::uint32_t{0};
  EXPECT_TRUE(step({{0, 0}, {1, 0}}, {0, none, 3, none}));
  EXPECT_TRUE(step({{0, 15}, {0, 16}, {1, 31}}, {0, 1, 2, 3}));
  refused(step({{0, 0}}, {4, 0, 0, 0}), Errc::invalid_argument,
          "page 0 of slot 0 in cache group 0 is 4, expected an id below 4");
  refused(step({{1, 16}}, {0, 1, none, 3}), Errc::invalid_argument,
          "page 0 of slot 1 in cache group 0 is 4294967295, expected an id below 4");
  refused(step({{1, 15}, {1, 16}}, {0, 1, 2, 9}), Errc::invalid_argument,
          "page 1 of slot 1 in cache group 0 is 9, expected an id below 4");
}

TEST_F(PagedExecutorTest, APageThatIsWrittenBelongsToOneSlot) {
  refused(step({{0, 0}, {1, 0}}, {2, 1, 2, 3}), Errc::overlapping_writers,
          "page id 2 of cache group 0 is page 0 of slot 0, which writes it; slot 1 writes it as page 0");
  refused(step({{0, 3}, {1, 16}}, {2, 1, 2, 3}), Errc::overlapping_writers,
          "page id 2 of cache group 0 is page 0 of slot 0, which writes it; slot 1 reads it as page 0");
  refused(step({{0, 16}}, {1, 1, 2, 3}), Errc::overlapping_writers,
          "page id 1 of cache group 0 is page 1 of slot 0, which writes it; slot 0 reads it as page 0");
  // Forked sequences read full pages together, and a slot that is not in the batch does not count.
  EXPECT_TRUE(step({{0, 16}, {1, 17}}, {2, 1, 2, 3}));
  EXPECT_TRUE(step({{0, 0}}, {2, 1, 2, 3}));
}

TEST(WindowedExecutor, PageIdsAreCheckedFromTheWindowOn) {
  constexpr std::uint32_t none = ~std::uint32_t{0};
  const plan::CompiledPlan plan = with_pages(17);
  toy::Device device;
  auto executor = exec::Executor<toy::Backend>::make(plan::ModelPlans::of(plan), *catalog_ops().table, {},
                                                     {1, 16, 1, 8, 8}, device);
  ASSERT_TRUE(executor) << executor.error().text();
  ASSERT_EQ(executor->cache_groups().size(), 1u);
  ASSERT_EQ(executor->cache_groups()[0].pages, 3u) << "17 positions before, and 16 of a step";
  const auto step = [&](std::uint32_t position, std::array<std::uint32_t, 8> pages) {
    return step_over(*executor, {{0, position}, {0, position + 1}}, pages);
  };
  // Position 64 sees 48 and what follows.
  EXPECT_TRUE(step(64, {none, none, none, 0, 1, none, none, none}));
  EXPECT_TRUE(step(65, {none, none, none, 0, 1, none, none, none}));
  EXPECT_TRUE(step(80, {none, none, none, none, 2, 1, none, none}));
  const auto gone = step(63, {none, none, none, 0, 1, none, none, none});
  ASSERT_FALSE(gone) << "the first row sees 47";
  EXPECT_EQ(gone.error().text(), "page 2 of slot 0 in cache group 0 is 4294967295, expected an id below 3");
  const auto twice = step(64, {none, none, none, 1, 1, none, none, none});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code(), Errc::overlapping_writers);
}

TEST_F(PagedExecutorTest, ABatchWithoutPageIdsIsRefused) {
  std::array<std::uint32_t, 1> zero{};
  exec::Batch b;
  b.tokens = b.slots = b.positions = zero;
  const auto r = executor_->step(b);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().text(), "the batch has no page ids, expected those of 2 slots");
}

}  // namespace
}  // namespace executor_test
