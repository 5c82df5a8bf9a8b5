// SPDX-License-Identifier: Apache-2.0
// tests/property/schedules.cpp: a request gives the same bits alone and in whatever batch it meets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <support/engines.hpp>
#include <support/schedules.hpp>

namespace schedules_test {
namespace {

using namespace zrt;
using test::On;

enum class Threads { one, pool_of_two, hook };

class Schedules : public testing::TestWithParam<std::tuple<DType, DType>> {};

// flags/schedules.cpp runs more of them, on one layer and with two workers at most.
TEST_P(Schedules, SameBitsAloneAndInAnyBatch) {
  const auto [weights, kv] = GetParam();
  test::ScheduleWorld world({.weights = weights, .kv = kv});
  {
    auto engine = test::open_engine(On::cpu, world.file.bytes(), world.options());
    auto oracle = test::open_engine(On::reference, world.file.bytes(), world.options());
    ASSERT_TRUE(engine && oracle) << (!engine ? engine.error().text() : oracle.error().text());
    ASSERT_EQ(test::run_alone(world, **engine), "");
    ASSERT_EQ(test::same_alone(world, **oracle, 12), "") << "on the reference";
  }
  test::ScheduleTally tally;
  test::TinyRandom random(static_cast<std::uint64_t>(weights) * 31 + static_cast<std::uint64_t>(kv));
  for (int round = 0; round < 16; ++round) {
    for (const Threads threads : {Threads::one, Threads::pool_of_two, Threads::hook}) {
      // The pool shares two cores with the rest of the machine: fewer engines, as many schedules.
      if (threads == Threads::pool_of_two && round % 8 != 0) continue;
      EngineOptions options = world.random_options(random);
      if (threads == Threads::pool_of_two) options.threads = 2;
      if (threads == Threads::hook) options.thread_hook = test::three_in_turn();
      auto engine = test::open_engine(On::cpu, world.file.bytes(), options);
      ASSERT_TRUE(engine) << engine.error().text();
      const int runs = threads == Threads::pool_of_two ? 4 : 1;
      for (int run = 0; run < runs; ++run)
        ASSERT_EQ(test::run_schedule(world, **engine, random, tally), "")
            << "slots " << options.slots << ", chunk " << options.chunk << ", logit rows " << options.logit_rows
            << ", threads " << static_cast<int>(threads) << ", round " << round;
    }
  }
  std::printf("weights %s, kv %s: %s\n", std::string(name(weights)).c_str(), std::string(name(kv)).c_str(),
              tally.text().c_str());
  RecordProperty("schedules", tally.schedules);
  EXPECT_EQ(tally.schedules, 40);
  EXPECT_GT(tally.cancelled, 5);
  EXPECT_GT(tally.left, 5);
  EXPECT_GT(tally.restored, 5);
  EXPECT_GT(tally.evaluated, 5);
}
// So long that attention is split, and with so many tokens that sampling finds its candidates by vectors.
TEST(LongSchedules, SameBitsAloneAndInAnyBatch) {
  test::ScheduleWorld world(
      {.weights = DType::q8_0, .layers = 1, .asks = 8, .most_requests = 5, .vocabulary = 1024, .stretch = 12});
  auto engine = test::open_engine(On::cpu, world.file.bytes(), world.options());
  ASSERT_TRUE(engine) << engine.error().text();
  ASSERT_EQ(test::run_alone(world, **engine), "");
  test::ScheduleTally tally;
  test::TinyRandom random(12);
  for (int round = 0; round < 8; ++round) {
    EngineOptions options = world.random_options(random);
    if (round % 2 == 1) options.thread_hook = test::three_in_turn();
    auto other = test::open_engine(On::cpu, world.file.bytes(), options);
    ASSERT_TRUE(other) << other.error().text();
    ASSERT_EQ(test::run_schedule(world, **other, random, tally), "")
        << "slots " << options.slots << ", chunk " << options.chunk << ", round " << round;
  }
  EXPECT_EQ(tally.schedules, 8);
  // A second segment of attention begins at position 512.
  EXPECT_TRUE(std::ranges::any_of(world.asks, [](const test::Ask& ask) { return ask.prompt.size() > 512; }));
}
// Tokens of several requests meet at an expert.
TEST(ExpertSchedules, SameBitsAloneAndInAnyBatch) {
  test::ScheduleWorld world({.weights = DType::q8_0, .layers = 1, .asks = 12, .experts = 8});
  auto engine = test::open_engine(On::cpu, world.file.bytes(), world.options());
  ASSERT_TRUE(engine) << engine.error().text();
  ASSERT_EQ(test::run_alone(world, **engine), "");
  test::ScheduleTally tally;
  test::TinyRandom random(13);
  for (int round = 0; round < 8; ++round) {
    EngineOptions options = world.random_options(random);
    if (round % 2 == 1) options.thread_hook = test::three_in_turn();
    auto other = test::open_engine(On::cpu, world.file.bytes(), options);
    ASSERT_TRUE(other) << other.error().text();
    ASSERT_EQ(test::run_schedule(world, **other, random, tally), "")
        << "slots " << options.slots << ", chunk " << options.chunk << ", round " << round;
  }
  EXPECT_EQ(tally.schedules, 8);
}
using Types = std::tuple<DType, DType>;
INSTANTIATE_TEST_SUITE_P(Property, Schedules,
                         testing::Values(Types{DType::f32, DType::f16}, Types{DType::f32, DType::q4_0},
                                         Types{DType::f32, DType::bf16}, Types{DType::q8_0, DType::f16},
                                         Types{DType::q8_0, DType::q8_0}, Types{DType::q8_0, DType::f32}),
                         [](const auto& param) {
                           return std::string(name(std::get<0>(param.param))) + "_kv_" +
                                  std::string(name(std::get<1>(param.param)));
                         });

}  // namespace
}  // namespace schedules_test
