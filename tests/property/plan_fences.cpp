// SPDX-License-Identifier: Apache-2.0
// tests/property/plan_fences.cpp: hazards that bind finds, seen by two workers that run at the same time.
// test-set: full threads
#include <zrt/exec/host_program.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <support/random_graph.hpp>
#include <support/two_workers.hpp>

namespace {

using namespace zrt;
using namespace zrt::test;

TEST(PlanFences, TwoWorkersGiveTheBitsOfOne) {
  TwoWorkers concurrent(true);
  TwoWorkers joined(false);
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    auto graph = random_graph(seed + 20000, 3 + seed % 37);
    ASSERT_TRUE(graph) << graph.error().text();
    auto plan = plan::compile(graph->graph, catalog_ops(), reference_claims());
    ASSERT_TRUE(plan) << plan.error().text();
    std::mt19937 random(seed);
    const StepData run = random_step(plan->plan, extents(16, 8), extents(1 + random() % 16, 1 + random() % 8), random);
    const auto apart = run_apart(*plan, graph->weights.source(), run);
    ASSERT_TRUE(apart) << apart.error().text();
    for (TwoWorkers* workers : {&concurrent, &joined}) {
      const auto spread = run_spread(*plan, graph->weights.source(), run, workers->hook());
      ASSERT_TRUE(spread) << spread.error().text();
      ASSERT_TRUE(*spread == *apart);
    }
  }
}

struct Count {
  std::array<std::uint32_t, 2>* calls;
};

void count(const Count& args, const ExecutionContext&, const Worker& worker) noexcept { ++(*args.calls)[worker.index]; }

/// Asks to stop at question number `at`.
struct StopAt {
  std::uint32_t at;
  mutable std::uint32_t asked = 0;
  [[nodiscard]] exec::StopPoll poll() const noexcept {
    return {this, [](const void* self) noexcept {
              const auto* stop = static_cast<const StopAt*>(self);
              return stop->asked++ >= stop->at;
            }};
  }
};

TEST(PlanFences, AllWorkersLeaveAtTheSameFence) {
  TwoWorkers concurrent(true);
  TwoWorkers joined(false);
  constexpr std::uint32_t kCalls = 12;
  for (TwoWorkers* workers : {&concurrent, &joined}) {
    for (std::uint32_t round = 0; round < 20; ++round) {
      for (std::uint32_t at = 0; at <= kCalls; ++at) {
        std::array<std::uint32_t, 2> calls{};
        exec::HostProgram program;
        for (std::uint32_t i = 0; i < kCalls; ++i) ASSERT_TRUE(program.push<Count>(&count, {&calls}, i, {}, true));
        const StopAt stop{at};
        const bool whole = program.launch(ExecutionContext{}, workers->hook(), stop.poll());
        // Polled between calls: eleven times, never after the last.
        EXPECT_EQ(whole, at >= kCalls - 1);
        const std::uint32_t expected = at >= kCalls - 1 ? kCalls : at + 1;
        EXPECT_EQ(calls[0], expected);
        EXPECT_EQ(calls[1], expected);
      }
    }
  }
}

}  // namespace
