// SPDX-License-Identifier: Apache-2.0
// tests/serve/work_pool.cpp: work that is posted, and work that is left for the next wake.
#include "work_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>

namespace program::server {
namespace {

using namespace std::chrono_literals;

/// Until a count is reached, at most for as long as a loaded machine may take.
bool reaches(const std::atomic<int>& count, int expected) {
  for (int i = 0; i < 20'000 && count < expected; ++i) std::this_thread::sleep_for(1ms);
  return count == expected;
}

TEST(WorkPool, WorkThatIsLeftWaitsForTheNextWake) {
  std::atomic<int> done{0}, begun{0};
  WorkPool pool(2, 4);
  // All four threads have begun when each waits for the others; then they fall asleep.
  for (int i = 0; i < 4; ++i)
    pool.post([&begun] {
      ++begun;
      (void)reaches(begun, 4);
    });
  EXPECT_TRUE(reaches(begun, 4));
  std::this_thread::sleep_for(200ms);
  for (int i = 0; i < 40; ++i) pool.leave([&done] { ++done; });
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(done, 0);
  pool.wake();
  EXPECT_TRUE(reaches(done, 40));
}

TEST(WorkPool, AThreadThatIsAwakeTakesWhatWasLeft) {
  std::atomic<int> done{0};
  WorkPool pool(1, 4);
  pool.leave([&done] { ++done; });
  pool.post([&done] { ++done; });
  EXPECT_TRUE(reaches(done, 2));
  pool.wake();
}

TEST(WorkPool, OneWakeHasSeveralThreadsDoMuchWork) {
  std::atomic<int> begun{0};
  std::counting_semaphore<> go{0};
  WorkPool pool(3, 4);
  // The first two wait for each other's thread.
  for (int i = 0; i < 2; ++i)
    pool.leave([&] {
      ++begun;
      go.acquire();
    });
  for (int i = 0; i < 30; ++i) pool.leave([] {});
  pool.wake();
  EXPECT_TRUE(reaches(begun, 2));
  go.release(2);
}

TEST(WorkPool, OwnersTakeTurns) {
  std::string order;
  std::mutex mutex;
  std::counting_semaphore<> go{0};
  std::atomic<int> done{0}, begun{0};
  WorkPool pool(1, 64);
  // Two that hold both threads of long work.
  for (const char* owner : {"a", "b"})
    ASSERT_TRUE(pool.try_post(owner, [&] {
      ++begun;
      go.acquire();
    }));
  EXPECT_TRUE(reaches(begun, 2));
  const auto ask = [&](const char* owner) {
    return pool.try_post(owner, [&, owner] {
      const std::lock_guard lock(mutex);
      order += owner;
      ++done;
    });
  };
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(ask("a"));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ask("c"));
  ASSERT_TRUE(ask("d"));
  go.release(2);
  EXPECT_TRUE(reaches(done, 9));
  const std::lock_guard lock(mutex);
  EXPECT_LT(order.find('d'), 6u) << order;
  EXPECT_LT(order.rfind('c'), 7u) << order;
}

// Long work of one owner takes all threads but one, on which any other one's begins at once.
TEST(WorkPool, OneOwnerLeavesAThreadToOthers) {
  std::counting_semaphore<> go{0};
  std::atomic<int> begun{0}, done{0}, others{0};
  {
    WorkPool pool(2, 64);
    for (int i = 0; i < 8; ++i)
      ASSERT_TRUE(pool.try_post("a", [&] {
        ++begun;
        go.acquire();
        ++done;
      }));
    EXPECT_TRUE(reaches(begun, 2));
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(pool.try_post("b", [&others] { ++others; }));
      EXPECT_TRUE(reaches(others, i + 1));
    }
    EXPECT_EQ(begun, 2);
    go.release(8);
  }
  EXPECT_EQ(done, 8);
}

TEST(WorkPool, OneOwnerFillsNoMoreThanHalfOfTheRoomBesideOthers) {
  std::counting_semaphore<> go{0};
  std::atomic<int> begun{0};
  WorkPool pool(1, 8);
  const auto ask = [&](const char* owner) {
    return pool.try_post(owner, [&] {
      ++begun;
      go.acquire();
    });
  };
  ASSERT_TRUE(ask("a"));
  ASSERT_TRUE(ask("b"));
  EXPECT_TRUE(reaches(begun, 2));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ask("a"));
  EXPECT_FALSE(ask("a"));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ask("b"));
  EXPECT_FALSE(ask("c"));
  go.release(10);
}

TEST(WorkPool, TheEndRunsWhatWasLeft) {
  std::atomic<int> done{0};
  {
    WorkPool pool(2, 4);
    for (int i = 0; i < 5; ++i) pool.leave([&done] { ++done; });
  }
  EXPECT_EQ(done, 5);
}

}  // namespace
}  // namespace program::server
