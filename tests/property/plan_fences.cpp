// SPDX-License-Identifier: Apache-2.0
// tests/property/plan_fences.cpp: hazards that bind finds, seen by workers that run at the same time, in turn, or not at all.
// test-set: full threads
#include <zrt/exec/host_program.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <support/random_graph.hpp>
#include <support/two_workers.hpp>

namespace plan_fences_test {
namespace {

using namespace zrt;
using namespace zrt::test;

/// Hooks of several workers that are all right.
std::vector<ThreadHook> hooks(TwoWorkers& at_once) {
  return {at_once.hook(),
          // The last of five comes and nobody else.
          {nullptr, [](void*, ThreadHook::Work work, void* argument) noexcept { work(argument, 4, 5); }, 5},
          {nullptr,
           [](void*, ThreadHook::Work work, void* argument) noexcept {
             for (std::uint32_t worker = 3; worker-- > 0;) work(argument, worker, 3);
           },
           3}};
}

TEST(PlanFences, SeveralWorkersGiveTheBitsOfOne) {
  TwoWorkers at_once;
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
    for (const ThreadHook& hook : hooks(at_once)) {
      const auto spread = run_spread(*plan, graph->weights.source(), run, hook);
      ASSERT_TRUE(spread) << spread.error().text();
      ASSERT_TRUE(*spread == *apart);
    }
  }
}

struct Count {
  std::array<std::uint32_t, 5>* calls;
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

TEST(PlanFences, AllSharesEndAtTheSameFence) {
  TwoWorkers at_once;
  constexpr std::uint32_t kCalls = 12;
  for (const ThreadHook& hook : hooks(at_once)) {
    for (std::uint32_t round = 0; round < 20; ++round) {
      for (std::uint32_t at = 0; at <= kCalls; ++at) {
        std::array<std::uint32_t, 5> calls{};
        exec::HostProgram program;
        for (std::uint32_t i = 0; i < kCalls; ++i) ASSERT_TRUE(program.push<Count>(&count, {&calls}, i, {}, true));
        const StopAt stop{at};
        const bool whole = program.launch(ExecutionContext{}, hook, stop.poll());
        // Polled between calls: eleven times, never after the last.
        EXPECT_EQ(whole, at >= kCalls - 1);
        const std::uint32_t expected = at >= kCalls - 1 ? kCalls : at + 1;
        for (std::uint32_t worker = 0; worker < hook.workers; ++worker) EXPECT_EQ(calls[worker], expected);
      }
    }
  }
}

}  // namespace
}  // namespace plan_fences_test
