// SPDX-License-Identifier: Apache-2.0
// tests/property/model_simulation.cpp: several models in the simulator: a set of them keeps its promises, and each broken rule is found.
#include "../../examples/zrt/simulate/model_simulation.hpp"

#include <gtest/gtest.h>

namespace model_simulation_test {

using simulate::ModelScript;
using simulate::ModelVerdict;
using zrt::serve::AllModelRules;
using zrt::serve::ModelRule;

constexpr std::uint64_t kSeeds = 20'000;
constexpr std::uint64_t kQuarter = kSeeds / 4;
/// Within how many seeds a broken rule must show.
constexpr std::uint64_t kBrokenSeeds = 10'000;

/// Breaks one rule.
struct AllModelRulesBut {
  ModelRule broken{};

  [[nodiscard]] bool keeps(ModelRule rule) const noexcept { return rule != broken; }
};

std::string report(const ModelScript& script, const ModelVerdict& verdict) {
  std::string text = "seed " + std::to_string(script.events.seed) + ", step " + std::to_string(verdict.step) + ": " +
                     verdict.broken + "\n";
  for (const simulate::ScriptEvent& e : simulate::shrunk(script, AllModelRules{}).events.events)
    text += "  " + simulate::line_of(e) + "\n";
  return text;
}

class ModelSeeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ModelSeeds, KeepEveryPromise) {
  simulate::ModelTally tally;
  for (std::uint64_t seed = GetParam() * kQuarter; seed < (GetParam() + 1) * kQuarter; ++seed) {
    const ModelScript script = simulate::model_script_of(seed);
    const ModelVerdict verdict = simulate::verdict_of(script, AllModelRules{});
    ASSERT_TRUE(verdict.broken.empty()) << report(script, verdict);
    ASSERT_EQ(simulate::verdict_of(simulate::model_script_of(seed), AllModelRules{}).digest, verdict.digest)
        << "seed " << seed;
    tally.add(verdict.tally);
  }
  // A simulator that never gets there proves nothing.
  for (const std::uint64_t count : {tally.finished, tally.evictions, tally.reopenings, tally.drains, tally.lost,
                                    tally.cancelled_outside, tally.told_prompts})
    EXPECT_GE(count, 1000u);
}
INSTANTIATE_TEST_SUITE_P(Models, ModelSeeds, testing::Range(std::uint64_t{0}, std::uint64_t{4}));

class BrokenModelRule : public testing::TestWithParam<std::uint32_t> {};

TEST_P(BrokenModelRule, IsFound) {
  const AllModelRulesBut rules{static_cast<ModelRule>(GetParam())};
  for (std::uint64_t seed = 0; seed < kBrokenSeeds; ++seed)
    if (!simulate::verdict_of(simulate::model_script_of(seed), rules).broken.empty()) return;
  FAIL() << "rule " << GetParam() << " can be broken unseen";
}
INSTANTIATE_TEST_SUITE_P(Models, BrokenModelRule, testing::Range(0u, zrt::serve::kModelRules));

TEST(ModelSimulation, MakesAFailureShort) {
  const AllModelRulesBut rules{ModelRule::memory_bound};
  std::uint64_t seed = 0;
  while (seed < kBrokenSeeds && simulate::verdict_of(simulate::model_script_of(seed), rules).broken.empty()) ++seed;
  ASSERT_LT(seed, kBrokenSeeds) << "the rule can be broken unseen";
  const ModelScript script = simulate::shrunk(simulate::model_script_of(seed), rules);
  EXPECT_FALSE(simulate::verdict_of(script, rules).broken.empty());
  EXPECT_TRUE(simulate::verdict_of(script, AllModelRules{}).broken.empty());
  EXPECT_LE(script.events.events.size(), 3u) << "a tenant and a request suffice";
}

}  // namespace model_simulation_test
