// SPDX-License-Identifier: Apache-2.0
// zrt/model/shared_rows.hpp: rows of a tensor that a host's workers compute, some megabytes at a time.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/core/checked.hpp>
#include <zrt/core/hooks.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::detail {

/// Rows that workers take one after the other.
class SharedRows {
 public:
  /// Starts anew with `count` rows.
  void begin(std::uint64_t count) noexcept {
    count_ = static_cast<std::uint32_t>(count);
    next_.store(0);
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  /// Calls compute(row) for every row that this worker takes.
  template <class F> void each(F&& compute) noexcept {
    for (std::uint32_t row = take(); row < count_; row = take()) compute(row);
  }

 private:
  [[nodiscard]] std::uint32_t take() noexcept { return next_.fetch_add(1, MemoryOrder::relaxed); }

  std::uint32_t count_ = 0;
  Atomic<std::uint32_t> next_{0};
};

/// Returns how many of a tensor's rows are computed before they are written: at least one of a tensor that has some.
[[nodiscard]] inline std::uint64_t rows_at_once(std::uint64_t rows, std::uint64_t row_bytes) noexcept {
  constexpr std::uint64_t kBytes = 4u << 20;
  const std::uint64_t fitting = kBytes / (row_bytes == 0 ? 1 : row_bytes);
  const std::uint64_t some = fitting < 1 ? 1 : fitting;
  return some < rows ? some : rows;
}

/// Returns what a buffer of rows takes. Errors: Errc::size_overflow.
[[nodiscard]] inline Result<std::size_t> room_of_rows(CheckedSize wanted) noexcept {
  const auto size = wanted.get("a row of a tensor");
  if (!size) return pass(size);
  return narrow<std::size_t>(*size, "a row of a tensor");
}

/// Returns how many workers call a job at the same time at the most.
[[nodiscard]] inline std::uint32_t workers_of(const ThreadHook& threads) noexcept {
  return threads.run == nullptr || threads.workers == 0 ? 1 : threads.workers;
}

/// Calls job.run(worker) on the host's workers, or once where the host has no threads.
template <class Job> void run_on_workers(const ThreadHook& threads, Job& job) noexcept {
  const auto work = [](void* argument, std::uint32_t worker, std::uint32_t) noexcept {
    static_cast<Job*>(argument)->run(worker);
  };
  if (threads.run == nullptr) return work(&job, 0, 1);
  threads.run(threads.context, work, &job);
}

}  // namespace zrt::inline ZRT_ABI::model::detail

ZRT_LOAD_TIME_END
