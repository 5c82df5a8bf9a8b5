// SPDX-License-Identifier: Apache-2.0
// tests/unit/observer.cpp: what an observer of host calls is told, by workers that run at the same time, in turn, or not at all.
// test-set: full smoke threads
#include <zrt/exec/host_program.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <support/two_workers.hpp>
#include <vector>

namespace observer_test {
namespace {

using namespace zrt;
using namespace zrt::test;

/// A call in logical time: the order in which begins and ends happened.
struct Seen {
  exec::ObservedCall call;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct Log {
  static constexpr std::uint32_t kWorkers = 5;

  std::atomic<std::uint32_t> clock{0};
  std::array<std::uint32_t, kWorkers> began{};
  std::mutex mutex;
  std::vector<Seen> calls;
};

/// Watches calls alone.
struct Watcher {
  Log* log = nullptr;

  Result<void> bind(const exec::ObservedProgram&) noexcept { return {}; }
  void begin_step(const ExecutionContext&) noexcept {}
  void end_step(bool) noexcept {}
  void begin_calls(std::uint32_t worker) const noexcept { log->began[worker] = log->clock++; }
  void end_call(const exec::ObservedCall& call) const noexcept {
    const std::uint32_t now = log->clock++;
    const std::lock_guard lock(log->mutex);
    log->calls.push_back({call, log->began[call.worker], now});
    log->began[call.worker] = now;
  }
};
static_assert(exec::WatchesCalls<Watcher>);
static_assert(!exec::WatchesDevice<Watcher> && !exec::WatchesRequests<Watcher>);
static_assert(!exec::Observer<exec::NoObserver>);
static_assert(std::is_empty_v<exec::CallWatch<exec::NoObserver>>);

/// Watches steps and no calls.
struct StepsOnly {
  Result<void> bind(const exec::ObservedProgram&) noexcept { return {}; }
  void begin_step(const ExecutionContext&) noexcept {}
  void end_step(bool) noexcept {}
};
static_assert(exec::Observer<StepsOnly> && std::is_empty_v<exec::CallWatch<StepsOnly>>);

struct None {};
void nothing(const None&, const ExecutionContext&, const Worker&) noexcept {}

/// Which segment each of six calls is in; each is an instruction of its own.
constexpr std::array<std::uint32_t, 6> kSegment{0, 1, 1, 2, 3, 3};

Result<void> record(exec::HostProgram& program) {
  for (std::uint32_t i = 0; i < kSegment.size(); ++i)
    if (auto r = program.push<None>(&nothing, {}, i, {}, i == 0 || kSegment[i] != kSegment[i - 1]); !r) return r;
  return {};
}

std::vector<ThreadHook> hooks(TwoWorkers& at_once) {
  return {{},
          at_once.hook(),
          {nullptr, [](void*, ThreadHook::Work work, void* argument) noexcept { work(argument, 4, 5); }, 5},
          {nullptr,
           [](void*, ThreadHook::Work work, void* argument) noexcept {
             for (std::uint32_t worker = 3; worker-- > 0;) work(argument, worker, 3);
           },
           3}};
}

TEST(Observer, IsToldOfEachPartitionOfEachCallOnceAndByItsWorker) {
  TwoWorkers at_once;
  for (const ThreadHook& hook : hooks(at_once)) {
    for (int round = 0; round < 20; ++round) {
      exec::HostProgram program;
      ASSERT_TRUE(record(program));
      Log log;
      ASSERT_TRUE(program.launch(ExecutionContext{}, hook, {}, Watcher{&log}));
      ASSERT_EQ(log.calls.size(), kSegment.size() * hook.workers);
      std::array<std::array<int, 5>, 6> times{};
      for (const Seen& seen : log.calls) {
        ASSERT_LT(seen.call.partition, hook.workers);
        ASSERT_LT(seen.call.worker, hook.workers);
        EXPECT_LT(seen.begin, seen.end);
        ++times[seen.call.instruction][seen.call.partition];
      }
      for (const auto& call : times)
        for (std::uint32_t partition = 0; partition < hook.workers; ++partition) EXPECT_EQ(call[partition], 1);
    }
  }
}

TEST(Observer, SeesNoCallBeforeTheFenceThatItWaitsFor) {
  TwoWorkers at_once;
  for (const ThreadHook& hook : hooks(at_once)) {
    for (int round = 0; round < 50; ++round) {
      exec::HostProgram program;
      ASSERT_TRUE(record(program));
      Log log;
      ASSERT_TRUE(program.launch(ExecutionContext{}, hook, {}, Watcher{&log}));
      for (const Seen& before : log.calls)
        for (const Seen& after : log.calls)
          if (kSegment[before.call.instruction] < kSegment[after.call.instruction]) {
            ASSERT_LT(before.end, after.begin);
          }
    }
  }
}

TEST(Observer, OfOneWorkerSeesItsCallsEndToEnd) {
  TwoWorkers at_once;
  exec::HostProgram program;
  ASSERT_TRUE(record(program));
  Log log;
  ASSERT_TRUE(program.launch(ExecutionContext{}, at_once.hook(), {}, Watcher{&log}));
  for (std::uint32_t worker = 0; worker < 2; ++worker) {
    std::uint32_t last = 0;
    for (const Seen& seen : log.calls) {
      if (seen.call.worker != worker) continue;
      EXPECT_GE(seen.begin, last);
      last = seen.end;
    }
  }
}

TEST(Observer, SeesNothingBehindAStop) {
  exec::HostProgram program;
  ASSERT_TRUE(record(program));
  const exec::StopPoll stop{nullptr, [](const void*) noexcept { return true; }};
  Log log;
  EXPECT_FALSE(program.launch(ExecutionContext{}, {}, stop, Watcher{&log}));
  ASSERT_EQ(log.calls.size(), 1u);
  EXPECT_EQ(log.calls[0].call.instruction, 0u);
}

/// The call of a region is one call; what it holds is not told.
struct RegionArgs {
  const exec::HostProgram* region;
};
void run_region(const RegionArgs& args, const ExecutionContext& step, const Worker& worker) noexcept {
  if (worker.index == 0) exec::HostProgram::run_region(args.region, step, worker.instruction);
}

TEST(Observer, SeesARegionAsTheCallThatRunsIt) {
  exec::HostProgram region;
  ASSERT_TRUE(record(region));
  exec::HostProgram program;
  ASSERT_TRUE(program.push<RegionArgs>(&run_region, {&region}, 7, {}, true));
  Log log;
  ASSERT_TRUE(program.launch(ExecutionContext{}, {}, {}, Watcher{&log}));
  ASSERT_EQ(log.calls.size(), 1u);
  EXPECT_EQ(log.calls[0].call.instruction, 7u);
}

}  // namespace
}  // namespace observer_test
