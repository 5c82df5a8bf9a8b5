// SPDX-License-Identifier: Apache-2.0
// tests/unit/thread_pool.cpp: every share of each round is done once, whoever comes, after a sleep too.
// test-set: smoke threads
#include <zrt/exec/cores.hpp>
#include <zrt/exec/shares.hpp>
#include <zrt/exec/thread_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace thread_pool_test {
namespace {

using zrt::exec::SegmentShard;
using zrt::exec::Shares;
using zrt::exec::ThreadPool;

constexpr std::uint32_t kSegments = 6;

struct Round {
  explicit Round(std::uint32_t workers) : shares(workers, kSegments), done(workers), sums(workers) {}
  Shares shares;
  std::vector<int> done;  ///< by share; not atomic: a share is somebody's
  std::vector<int> sums;  ///< what each share of a segment reads of all shares of those before
};

void work(void* argument, std::uint32_t worker, std::uint32_t) noexcept {
  Round& round = *static_cast<Round*>(argument);
  Shares::Claimant claimant{worker};
  for (SegmentShard share; round.shares.claim(claimant, share);) {
    // Even segments write, odd ones read what all have written.
    if (share.segment % 2 == 0)
      ++round.done[share.index];
    else
      for (const int done : round.done) round.sums[share.index] += done;
    round.shares.finish(share, [] { return false; });
  }
}

void run_rounds(std::uint32_t workers, int rounds, std::chrono::microseconds pause) {
  ThreadPool pool(zrt::system_allocator());
  ASSERT_TRUE(pool.start(workers));
  const zrt::ThreadHook hook = pool.hook();
  EXPECT_EQ(hook.workers, std::min(workers, zrt::exec::usable_cores()));
  for (int i = 0; i < rounds; ++i) {
    Round round(hook.workers);
    hook.run(hook.context, &work, &round);
    EXPECT_FALSE(round.shares.halted());
    const std::uint32_t shares = round.shares.count();
    EXPECT_EQ(shares, std::min(hook.workers, Shares::kMost));
    for (std::uint32_t share = 0; share < shares; ++share) {
      ASSERT_EQ(round.done[share], 3) << "share " << share;
      ASSERT_EQ(round.sums[share], static_cast<int>(shares) * (1 + 2 + 3)) << "share " << share;
    }
    if (pause.count() != 0) std::this_thread::sleep_for(pause);
  }
}

TEST(ThreadPool, OneWorkerIsTheCaller) { run_rounds(1, 100, {}); }
TEST(ThreadPool, TwoWorkersShareEveryRound) { run_rounds(2, 500, {}); }
TEST(ThreadPool, MoreWorkersThanCoresFinish) { run_rounds(5, 200, {}); }
TEST(ThreadPool, ManyMoreWorkersThanCoresFinish) { run_rounds(Shares::kMost + 3, 2, {}); }
/// Longer than the workers spin: they sleep and are woken.
TEST(ThreadPool, SleepingWorkersAreWoken) { run_rounds(2, 20, std::chrono::microseconds(3000)); }
TEST(ThreadPool, WorkersThatFallAsleepAsWorkComesMissNothing) { run_rounds(2, 100, std::chrono::microseconds(1000)); }

/// Rounds in which the caller waits until another worker has come, which then takes its time: of a pool that never
/// wakes one nobody comes before the deadline, and one that does not wait for whoever has come returns too early.
TEST(ThreadPool, WorkersComeAfterEveryPauseAndAreWaitedFor) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "NOT TESTED: a pool has no threads on one core";
  ThreadPool pool(zrt::system_allocator());
  ASSERT_TRUE(pool.start(2));
  const zrt::ThreadHook hook = pool.hook();
  struct Visit {
    zrt::Atomic<std::uint32_t> come{0};
    zrt::Atomic<std::uint32_t> left{0};
  };
  for (int i = 0; i < 40; ++i) {
    Visit visit;
    hook.run(
        hook.context,
        [](void* argument, std::uint32_t worker, std::uint32_t) noexcept {
          auto& v = *static_cast<Visit*>(argument);
          if (worker != 0) v.come.store(1);
          const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
          while (v.come.load() == 0 && std::chrono::steady_clock::now() < deadline) zrt::exec::spin_pause();
          if (worker == 0) return;
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          v.left.store(1);
        },
        &visit);
    ASSERT_EQ(visit.come.load(), 1u) << "round " << i << ": nobody came";
    EXPECT_EQ(visit.left.load(), 1u);
    std::this_thread::sleep_for(std::chrono::microseconds(i % 2 == 0 ? 0 : 2500));
  }
}

/// Threads of the host's, more than there are cores, each at all its segments: whoever waits gives its core away, so
/// that those who have none get one.
TEST(Shares, WorkersThatShareACoreFinish) {
  for (const std::uint32_t workers : {2u, 5u, 16u}) {
    for (int i = 0; i < 20; ++i) {
      Round round(workers);
      std::vector<std::jthread> threads;
      for (std::uint32_t w = 0; w < workers; ++w) threads.emplace_back([&, w] { work(&round, w, workers); });
      threads.clear();
      EXPECT_EQ(round.done, std::vector<int>(workers, 3));
    }
  }
}

/// A worker that finds the others' shares untouched does them all; one that was late then finds the step over.
TEST(Shares, OneOfManyDoesTheStepAlone) {
  for (const std::uint32_t alone : {0u, 3u, 7u}) {
    Round round(4);
    work(&round, alone, 4);
    EXPECT_EQ(round.done, std::vector<int>(4, 3));
    EXPECT_EQ(round.sums, std::vector<int>(4, 24));
    work(&round, 1, 4);
    EXPECT_EQ(round.done, std::vector<int>(4, 3));
  }
}

TEST(Shares, NobodyTakesAShareThatAnotherIsAt) {
  Shares shares(2, 2);
  Shares::Claimant a{0}, b{1};
  SegmentShard mine, other;
  ASSERT_TRUE(shares.claim(a, mine));
  ASSERT_TRUE(shares.claim(b, other));
  EXPECT_EQ(mine.index, 0u);
  EXPECT_EQ(other.index, 1u);
  const auto never = [] { return false; };
  shares.finish(other, never);
  shares.finish(mine, never);
  // The next segment opened with the last share of this one.
  ASSERT_TRUE(shares.claim(b, other));
  EXPECT_EQ(other.segment, 1u);
  ASSERT_TRUE(shares.claim(b, mine)) << "the share of a worker that does not come";
  EXPECT_EQ(mine.index, 0u);
  shares.finish(mine, never);
  shares.finish(other, never);
  EXPECT_FALSE(shares.claim(a, mine));
}

TEST(Shares, AStopEndsTheStepBetweenSegments) {
  Shares shares(1, 3);
  Shares::Claimant worker{0};
  SegmentShard share;
  ASSERT_TRUE(shares.claim(worker, share));
  shares.finish(share, [] { return true; });
  EXPECT_FALSE(shares.claim(worker, share));
  EXPECT_TRUE(shares.halted());
}

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
}  // namespace thread_pool_test
