// SPDX-License-Identifier: Apache-2.0
// tests/serve/body_budget.cpp: what bodies claim of the memory that they share, from one thread and from several.
#include <gtest/gtest.h>

#include <body_budget.hpp>
#include <thread>
#include <vector>

namespace body_budget_test {
namespace {

using namespace program::server;

TEST(BodyBudget, ClaimsGrowWithTheirBodiesAndEnd) {
  const auto budget = std::make_shared<BodyBudget>(100);
  {
    BodyClaim claim(budget);
    EXPECT_TRUE(claim.cover(kFreeBodyBytes));
    EXPECT_EQ(budget->left(), 100u);
    EXPECT_TRUE(claim.cover(kFreeBodyBytes + 60));
    EXPECT_TRUE(claim.cover(kFreeBodyBytes + 10));
    EXPECT_EQ(budget->left(), 40u);
    EXPECT_FALSE(claim.cover(kFreeBodyBytes + 101));
    EXPECT_EQ(budget->left(), 40u);
    const BodyClaim moved(std::move(claim));
    EXPECT_EQ(budget->left(), 40u);
    BodyClaim other(budget);
    EXPECT_FALSE(other.cover(kFreeBodyBytes + 41));
    EXPECT_TRUE(other.cover(kFreeBodyBytes));
  }
  EXPECT_EQ(budget->left(), 100u);
}

TEST(BodyBudget, ThreadsNeverTakeMoreThanThereIs) {
  const auto budget = std::make_shared<BodyBudget>(1000);
  std::atomic<std::size_t> taken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 2000; ++k)
        if (budget->take(300)) {
          EXPECT_LE(taken += 300, 1000u);
          taken -= 300;
          budget->give(300);
        }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget->left(), 1000u);
}

}  // namespace
}  // namespace body_budget_test
