// SPDX-License-Identifier: Apache-2.0
// tests/property/scheduler.cpp: the scheduler in the simulator: it keeps its promises, and each broken rule is found.
#include "../../examples/zrt/simulate/simulation.hpp"

#include <gtest/gtest.h>

namespace scheduler_test {

using simulate::Script;
using simulate::Verdict;
using zrt::serve::AllRules;
using zrt::serve::Rule;

constexpr std::uint64_t kSeeds = 20'000;
constexpr std::uint64_t kQuarter = kSeeds / 4;
/// Within how many seeds a broken rule must show.
constexpr std::uint64_t kBrokenSeeds = 10'000;

/// Breaks one rule.
struct AllBut {
  Rule broken{};

  [[nodiscard]] bool keeps(Rule rule) const noexcept { return rule != broken; }
};

std::string report(const Script& script, const Verdict& verdict) {
  std::string text =
      "seed " + std::to_string(script.seed) + ", step " + std::to_string(verdict.step) + ": " + verdict.broken + "\n";
  for (const simulate::ScriptEvent& e : simulate::shrunk(script, AllRules{}).events)
    text += "  " + simulate::line_of(e) + "\n";
  return text;
}

class Seeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Seeds, KeepEveryPromise) {
  simulate::Tally tally;
  for (std::uint64_t seed = GetParam() * kQuarter; seed < (GetParam() + 1) * kQuarter; ++seed) {
    const Script script = simulate::script_of(seed);
    const Verdict verdict = simulate::verdict_of(script, AllRules{});
    ASSERT_TRUE(verdict.broken.empty()) << report(script, verdict);
    ASSERT_EQ(simulate::verdict_of(simulate::script_of(seed), AllRules{}).digest, verdict.digest) << "seed " << seed;
    tally.add(verdict.tally);
  }
  // A simulator that never gets there proves nothing.
  for (const std::uint64_t count :
       {tally.finished, tally.refused, tally.preemptions, tally.resumed_on_prefix, tally.prefix_hits,
        tally.states_loaded, tally.states_resumed, tally.slow_clients, tally.removed_busy, tally.floor_steps,
        tally.idle_steps, tally.accepted_drafts, tally.drafts - tally.accepted_drafts, tally.told_prompts,
        tally.told_preempted, tally.told_blocked, tally.told_slow})
    EXPECT_GE(count, 100u);
  EXPECT_GE(tally.told_on_prefix, 20u);
}
INSTANTIATE_TEST_SUITE_P(Scheduler, Seeds, testing::Range(std::uint64_t{0}, std::uint64_t{4}));

class BrokenRule : public testing::TestWithParam<std::uint32_t> {};

TEST_P(BrokenRule, IsFound) {
  const AllBut rules{static_cast<Rule>(GetParam())};
  for (std::uint64_t seed = 0; seed < kBrokenSeeds; ++seed)
    if (!simulate::verdict_of(simulate::script_of(seed), rules).broken.empty()) return;
  FAIL() << "rule " << GetParam() << " can be broken unseen";
}
INSTANTIATE_TEST_SUITE_P(Scheduler, BrokenRule, testing::Range(0u, zrt::serve::kRules));

TEST(SchedulerSimulation, MakesAFailureShort) {
  const AllBut rules{Rule::release_once};
  std::uint64_t seed = 0;
  while (simulate::verdict_of(simulate::script_of(seed), rules).broken.empty()) ++seed;
  const Script script = simulate::shrunk(simulate::script_of(seed), rules);
  EXPECT_FALSE(simulate::verdict_of(script, rules).broken.empty());
  EXPECT_TRUE(simulate::verdict_of(script, AllRules{}).broken.empty());
  EXPECT_LE(script.events.size(), 3u) << "a tenant and a request suffice";
}

}  // namespace scheduler_test
