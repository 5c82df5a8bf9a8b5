// SPDX-License-Identifier: Apache-2.0
// zrt/core/hooks.hpp: what a host may hand to the library: log sink, clock and threads.
#pragma once

#include <zrt/core/allocator.hpp>

#include <cstdint>
#include <string_view>
#include <time.h>

namespace zrt::inline ZRT_ABI {

enum class LogLevel : std::uint8_t { info, warn, error };

/// Receives the library's messages. Without a function the library is silent.
struct LogSink {
  void* context = nullptr;
  void (*write)(void* context, LogLevel level, std::string_view text) noexcept = nullptr;

  void operator()(LogLevel level, std::string_view text) const noexcept {
    if (write != nullptr) write(context, level, text);
  }
};

/// Runs a step on the host's threads.
///
/// `run` calls `work(argument, i, workers)` for workers i below `workers`, at least for one of them, and returns when
/// all these calls have returned. It may run them in parallel, in sequence, or leave some out: a worker claims any
/// shard that nobody has started, and waits only for shards that another worker is running.
struct ThreadHook {
  using Work = void (*)(void* argument, std::uint32_t worker, std::uint32_t workers) noexcept;

  void* context = nullptr;
  void (*run)(void* context, Work work, void* argument) noexcept = nullptr;
  std::uint32_t workers = 1;
};

/// Returns how many workers call a job at the same time at the most.
[[nodiscard]] inline std::uint32_t workers_of(const ThreadHook& threads) noexcept {
  return threads.run == nullptr || threads.workers == 0 ? 1 : threads.workers;
}

/// Calls job.run(worker) on every worker of the hook, or as worker 0 alone where the host has no threads.
template <class Job> void run_on_workers(const ThreadHook& threads, Job& job) noexcept {
  if (threads.run == nullptr) return job.run(0);
  threads.run(
      threads.context,
      [](void* argument, std::uint32_t worker, std::uint32_t) noexcept { static_cast<Job*>(argument)->run(worker); },
      &job);
}

/// Returns nanoseconds since an arbitrary start, never fewer than before. Without a function all times are zero.
struct ClockHook {
  void* context = nullptr;
  std::uint64_t (*now)(void* context) noexcept = nullptr;

  [[nodiscard]] std::uint64_t operator()() const noexcept { return now == nullptr ? 0 : now(context); }
};

/// The operating system's monotonic clock, read without a system call where the system allows that.
[[nodiscard]] inline ClockHook monotonic_clock() noexcept {
  return {nullptr, [](void*) noexcept -> std::uint64_t {
            timespec t{};
            if (clock_gettime(CLOCK_MONOTONIC, &t) != 0) return 0;
            return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
          }};
}

}  // namespace zrt::inline ZRT_ABI
