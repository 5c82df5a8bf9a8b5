// SPDX-License-Identifier: Apache-2.0
// zrt/exec/thread_pool.hpp: the default workers behind the thread hook.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/exec/cores.hpp>
#include <zrt/exec/spin_pause.hpp>

#include <cerrno>
#include <pthread.h>

namespace zrt::inline ZRT_ABI::exec {

/// Helps the calling thread, which is worker 0, with a step. The pool has no more workers than the process has cores.
///
/// The caller does not wait for a thread that arrives after the work is done. Between steps threads spin for about a
/// millisecond, so that the next decode step starts without a system call; then they sleep.
/// Neither copyable nor movable; hold it by Owned.
class ThreadPool {
 public:
  explicit ThreadPool(Allocator allocator) noexcept : threads_(allocator) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() { stop(); }

  /// Starts a thread for each of `workers` but the first, while there is a core for it. More workers than cores would
  /// only wait for each other.
  ///
  /// Errors: Errc::out_of_memory, also where the system has none for another thread.
  [[nodiscard]] Result<void> start(std::uint32_t workers) noexcept {
    if (auto r = threads_.reserve(workers); !r) return r;
    const std::uint32_t most = usable_cores();
    for (std::uint32_t i = 1; i < workers && i < most; ++i) {
      if (auto r = threads_.push_back({this, i, {}}); !r) return r;
      Thread& thread = threads_.back();
      if (const int code = pthread_create(&thread.handle, nullptr, &ThreadPool::main, &thread); code != 0) {
        threads_.pop_back();
        stop();
        // The system tells a limit of threads and want of memory for a stack by the same code.
        return fail(code == EAGAIN || code == ENOMEM ? Errc::out_of_memory : Errc::io_error,
                    "the system has no thread for worker ", i, ": error ", code);
      }
    }
    workers_ = static_cast<std::uint32_t>(threads_.size()) + 1;
    return {};
  }

  [[nodiscard]] ThreadHook hook() noexcept { return {this, &ThreadPool::run, workers_}; }

 private:
  struct Thread {
    ThreadPool* pool;
    std::uint32_t index;
    pthread_t handle;
  };

  /// How long idle threads spin: longer than a host's work between two decode steps.
  static constexpr std::uint64_t kSpinNanoseconds = 1'000'000;
  /// Part of `gate_` while there is no work; the bits below count threads.
  static constexpr std::uint32_t kClosed = 1u << 31;

  static void run(void* context, ThreadHook::Work work, void* argument) noexcept {
    auto& pool = *static_cast<ThreadPool*>(context);
    pool.work_ = work;
    pool.argument_ = argument;
    pool.gate_.fetch_sub(kClosed, MemoryOrder::release);
    pool.round_.fetch_add(1, MemoryOrder::seq_cst);
    if (pool.asleep_.load(MemoryOrder::seq_cst)) pool.wake();
    work(argument, 0, pool.workers_);
    pool.gate_.fetch_add(kClosed, MemoryOrder::acq_rel);
    for (SpinWait waiting; pool.gate_.load(MemoryOrder::acquire) != kClosed;) waiting.wait();
  }

  static void* main(void* argument) noexcept {
    const Thread& thread = *static_cast<Thread*>(argument);
    ThreadPool& pool = *thread.pool;
    for (std::uint32_t seen = 0; pool.await(seen);) {
      if ((pool.gate_.fetch_add(1, MemoryOrder::acquire) & kClosed) == 0)
        pool.work_(pool.argument_, thread.index, pool.workers_);
      pool.gate_.fetch_sub(1, MemoryOrder::release);
    }
    return nullptr;
  }

  /// Waits for a round after `seen`; false when the pool stops.
  bool await(std::uint32_t& seen) noexcept {
    std::uint64_t since = 0;
    for (std::uint32_t spins = 1; round_.load(MemoryOrder::acquire) == seen; ++spins) {
      spin_pause();
      if (spins % 1024 != 0) continue;
      const std::uint64_t now = monotonic_clock()();
      if (since == 0) since = now;
      if (now - since >= kSpinNanoseconds) sleep_until_after(seen);
    }
    seen = round_.load(MemoryOrder::acquire);
    return !stopping_.load(MemoryOrder::acquire);
  }

  void sleep_until_after(std::uint32_t seen) noexcept {
    (void)pthread_mutex_lock(&mutex_);
    while (round_.load(MemoryOrder::seq_cst) == seen) {
      // Set before every last look at the round: run() reads `asleep_` after it has raised the round, and a wake() may
      // have been for an earlier round than this worker waits for.
      asleep_.store(true, MemoryOrder::seq_cst);
      if (round_.load(MemoryOrder::seq_cst) != seen) break;
      (void)pthread_cond_wait(&wake_, &mutex_);
    }
    (void)pthread_mutex_unlock(&mutex_);
  }

  /// Wakes all sleeping threads by one system call; makes none if no thread sleeps.
  ///
  /// After the lock was taken once, no thread is between its last look at the round and its sleep. The lock is released
  /// before the call: a thread that woke while it is held would need a second wake-up.
  void wake() noexcept {
    (void)pthread_mutex_lock(&mutex_);
    asleep_.store(false, MemoryOrder::relaxed);
    (void)pthread_mutex_unlock(&mutex_);
    (void)pthread_cond_broadcast(&wake_);
  }

  void stop() noexcept {
    stopping_.store(true, MemoryOrder::seq_cst);
    round_.fetch_add(1, MemoryOrder::seq_cst);
    wake();
    for (Thread& thread : threads_) (void)pthread_join(thread.handle, nullptr);
    threads_.clear();
  }

  Vector<Thread> threads_;
  std::uint32_t workers_ = 1;
  ThreadHook::Work work_ = nullptr;
  void* argument_ = nullptr;
  alignas(64) Atomic<std::uint32_t> round_{0};
  /// Threads that work or are about to look for work, and kClosed while there is none.
  alignas(64) Atomic<std::uint32_t> gate_{kClosed};
  Atomic<bool> asleep_{false};  ///< a thread may have gone to sleep since the last wake()
  Atomic<bool> stopping_{false};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER;
};

}  // namespace zrt::inline ZRT_ABI::exec
