// SPDX-License-Identifier: Apache-2.0
// tests/serve/work_pool.cpp: work that is posted, and work that is left for the next wake.
#include "work_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <semaphore>
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
  // All three threads have begun when each waits for the others; then they fall asleep.
  for (int i = 0; i < 3; ++i)
    pool.post([&begun] {
      ++begun;
      (void)reaches(begun, 3);
    });
  EXPECT_TRUE(reaches(begun, 3));
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
