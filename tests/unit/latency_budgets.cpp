// SPDX-License-Identifier: Apache-2.0
// tests/unit/latency_budgets.cpp: prompts make way for whoever may want a token soon.
#include <zrt/serve/latency_budget.hpp>

#include <gtest/gtest.h>

#include <array>
#include <support/scheduler_bench.hpp>

namespace latency_budget_test {

using namespace zrt::serve;
using zrt::test::four_slots;
using Bench = zrt::test::SchedulerBench;

/// Four slots of long texts, on a machine that takes 0.5 ms for a token.
struct Machine : Bench {
  Machine() : Bench(limits()) {
    token_ns = 500'000;
    first_token_ns = gap_ns = kBudgetOfClass;
  }

  static SchedulerLimits limits() {
    SchedulerLimits l = four_slots();
    l.context = 2048;
    l.pages = 512;
    l.step_tokens = 516;
    return l;
  }
  /// What a tenant's prompts read in the next step.
  std::uint32_t reads(Handle tenant, const std::vector<Arrival>& arrivals = {}) {
    std::uint32_t count = 0;
    for (const PlannedRun& run : step(arrivals).runs)
      if (!run.decode && scheduler.state().slots[run.slot].tenant == tenant) count += run.count;
    return count;
  }
};

TEST(LatencyBudgets, AreThoseOfTheClassUnlessTheTenantHasItsOwn) {
  TenantQuota quota;
  EXPECT_EQ(latency_budget(quota).first_token, 500'000'000u);
  EXPECT_EQ(latency_budget(quota).gap, 0u);
  quota.service = ServiceClass::interactive;
  EXPECT_EQ(latency_budget(quota).first_token, 100'000'000u);
  EXPECT_EQ(latency_budget(quota).gap, 30'000'000u);
  quota.first_token_ns = 7;
  quota.gap_ns = 0;
  EXPECT_EQ(latency_budget(quota).first_token, 7u);
  EXPECT_EQ(latency_budget(quota).gap, 0u);
}

TEST(LatencyBudgets, CutPromptsOfLowerClassesForATenantThatMayCome) {
  Machine m;
  const Handle job = m.tenant(ServiceClass::batch);
  EXPECT_EQ(m.reads(job, {m.request(job, 2000, 4)}), 516u) << "nobody else is there";
  m.tenant(ServiceClass::standard);
  EXPECT_EQ(m.reads(job), 496u) << "250 ms are 500 tokens, of which whole pages count";
  m.tenant(ServiceClass::interactive);
  EXPECT_EQ(m.reads(job), 96u) << "50 ms are 100 tokens";
  m.token_ns = 50'000'000;
  EXPECT_EQ(m.reads(job), kLeastPrompt) << "a machine that is too slow goes on all the same";
}

/// Half of a budget of 1 ns is a time, not none.
TEST(LatencyBudgets, TheLeastOneIsStillOne) {
  Machine m;
  const Handle job = m.tenant(ServiceClass::batch);
  m.tenant(ServiceClass::interactive);
  m.first_token_ns = 1;
  m.tenant(ServiceClass::interactive);
  m.reads(job, {m.request(job, 2000, 4)});
  EXPECT_EQ(m.reads(job), kLeastPrompt);
  EXPECT_EQ(m.reads(job), kLeastPrompt);
}

TEST(LatencyBudgets, DoNotCutATenantsPromptsForItself) {
  Machine m;
  const Handle user = m.tenant(ServiceClass::interactive);
  m.tenant(ServiceClass::batch);
  m.reads(user, {m.request(user, 1500, 4)});
  EXPECT_EQ(m.reads(user), 516u);
  m.tenant(ServiceClass::interactive);
  EXPECT_EQ(m.reads(user), 96u) << "another of its class may come";
}

TEST(LatencyBudgets, CountWhereATenantHasSome) {
  Machine m;
  m.first_token_ns = m.gap_ns = 0;
  m.tenant(ServiceClass::interactive);
  m.first_token_ns = kBudgetOfClass;
  const Handle job = m.tenant(ServiceClass::batch);
  m.reads(job, {m.request(job, 1500, 4)});
  EXPECT_EQ(m.reads(job), 516u);
}

TEST(LatencyBudgets, KeepTheGapsOfAnInteractiveAnswer) {
  Machine m;
  m.first_token_ns = 0;
  const Handle user = m.tenant(ServiceClass::interactive);
  const std::array jobs{m.tenant(ServiceClass::standard), m.tenant(ServiceClass::batch)};
  m.step({m.request(user, 64, 100)});
  m.step();
  EXPECT_GT(m.reads(jobs[0], {m.request(jobs[0], 1500, 4), m.request(jobs[1], 1500, 4)}), 0u);
  for (int i = 0; i < 8; ++i) {
    std::uint32_t both = 0;
    for (const PlannedRun& run : m.step().runs) both += run.decode ? 0 : run.count;
    EXPECT_EQ(both, 48u) << "30 ms are 60 tokens, of which whole pages count";
  }
}

TEST(LatencyBudgets, LeaveTargetsOfRequestsAsTheyAre) {
  Machine m;
  m.first_token_ns = m.gap_ns = 0;
  const Handle user = m.tenant(ServiceClass::interactive);
  Arrival a = m.request(user, 1500, 4);
  a.step_latency = 20'000'000;
  EXPECT_EQ(m.reads(user, {a}), zrt::kPageTokens) << "nothing is known";
  EXPECT_EQ(m.reads(user), 32u) << "20 ms are 40 tokens";
}

}  // namespace latency_budget_test
