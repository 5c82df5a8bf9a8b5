// SPDX-License-Identifier: Apache-2.0
// tests/unit/thread_pool.cpp: all workers run each round once, at the same time, after a sleep too.
// test-set: smoke threads
#include <zrt/core/owned.hpp>
#include <zrt/exec/barrier.hpp>
#include <zrt/exec/thread_pool.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace {

using zrt::exec::SpinBarrier;
using zrt::exec::ThreadPool;

struct Round {
  SpinBarrier barrier;
  std::vector<int> calls;       ///< by worker; not atomic: a worker has its own
  std::vector<int> seen_after;  ///< what each worker reads of its neighbour after the barrier
};

void work(void* argument, std::uint32_t worker, std::uint32_t workers) noexcept {
  Round& round = *static_cast<Round*>(argument);
  std::uint32_t meeting = 0;
  ++round.calls[worker];
  round.barrier.wait(meeting);
  round.seen_after[worker] = round.calls[(worker + 1) % workers];
  round.barrier.wait(meeting);
}

void run_rounds(std::uint32_t workers, int rounds, std::chrono::microseconds pause) {
  ThreadPool pool(zrt::system_allocator());
  ASSERT_TRUE(pool.start(workers));
  const zrt::ThreadHook hook = pool.hook();
  EXPECT_EQ(hook.workers, workers);
  EXPECT_TRUE(hook.concurrent);
  Round round;
  round.calls.assign(workers, 0);
  round.seen_after.assign(workers, 0);
  for (int i = 1; i <= rounds; ++i) {
    round.barrier.reset(workers);
    hook.run(hook.context, &work, &round);
    for (std::uint32_t w = 0; w < workers; ++w) {
      ASSERT_EQ(round.calls[w], i) << "worker " << w;
      ASSERT_EQ(round.seen_after[w], i) << "worker " << w;
    }
    if (pause.count() != 0) std::this_thread::sleep_for(pause);
  }
}

TEST(ThreadPool, OneWorkerIsTheCaller) { run_rounds(1, 100, {}); }
TEST(ThreadPool, TwoWorkersMeetInEveryRound) { run_rounds(2, 500, {}); }
TEST(ThreadPool, MoreWorkersThanCoresFinish) { run_rounds(5, 20, {}); }
/// Longer than the workers spin: they sleep and are woken.
TEST(ThreadPool, SleepingWorkersAreWoken) { run_rounds(2, 20, std::chrono::microseconds(3000)); }
TEST(ThreadPool, WorkersThatFallAsleepAsWorkComesMissNothing) { run_rounds(2, 100, std::chrono::microseconds(1000)); }

TEST(ThreadPool, StartsAndStopsWithoutWork) {
  for (int i = 0; i < 20; ++i) {
    ThreadPool pool(zrt::system_allocator());
    ASSERT_TRUE(pool.start(3));
  }
}

TEST(ThreadPool, FailureToAllocateIsAnError) {
  zrt::Allocator none = zrt::system_allocator();
  none.allocate = [](void*, std::size_t, std::size_t) noexcept -> void* { return nullptr; };
  ThreadPool pool(none);
  const auto r = pool.start(2);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), zrt::Errc::out_of_memory);
}

}  // namespace
