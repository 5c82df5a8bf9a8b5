// SPDX-License-Identifier: Apache-2.0
// zrt/exec/thread_pool.hpp: the default workers behind the thread hook.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/exec/cores.hpp>
#include <zrt/exec/spin_pause.hpp>

#include <pthread.h>

namespace zrt::inline ZRT_ABI::exec {

/// Threads that help the caller, who is worker 0, with a step; no more of them than the process has cores.
///
/// A thread that has not come by the time that the caller is done is not waited for. Between steps they spin
/// for about a millisecond, so that the next decode step starts without a system call, then sleep.
/// Neither copyable nor movable; hold it by Owned.
class ThreadPool {
 public:
  explicit ThreadPool(Allocator allocator) noexcept : threads_(allocator) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() { stop(); }

  /// Starts a thread for each of `workers` but the first, as long as there is a core for it: more workers than cores
  /// split the work finer than anybody runs it, and wait for each other.
  ///
  /// Errors: Errc::out_of_memory, Errc::io_error when the system has no more threads.
  [[nodiscard]] Result<void> start(std::uint32_t workers) noexcept {
    if (auto r = threads_.reserve(workers); !r) return r;
    const std::uint32_t most = usable_cores();
    for (std::uint32_t i = 1; i < workers && i < most; ++i) {
      if (auto r = threads_.push_back({this, i, {}}); !r) return r;
      Thread& thread = threads_.back();
      if (const int code = pthread_create(&thread.handle, nullptr, &ThreadPool::main, &thread); code != 0) {
        threads_.pop_back();
        stop();
        return fail(Errc::io_error, "starting worker ", i, " failed with error ", code);
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

  static constexpr std::uint64_t kSpinNanoseconds = 1'000'000;
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
      // Announced anew before each last look at the round: run() looks at `asleep_` after raising it, and wake()
      // may have been for an earlier round than the one that this worker waits for.
      asleep_.store(true, MemoryOrder::seq_cst);
      if (round_.load(MemoryOrder::seq_cst) != seen) break;
      (void)pthread_cond_wait(&wake_, &mutex_);
    }
    (void)pthread_mutex_unlock(&mutex_);
  }

  /// Wakes all who sleep, by one system call, or by none if nobody does.
  ///
  /// Nobody is between the last look at the round and the sleep once the lock was had. It is given back before the
  /// call: a worker that wakes while it is held would have to be woken a second time.
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
  /// Threads at work or about to look, and kClosed while there is nothing to do.
  alignas(64) Atomic<std::uint32_t> gate_{kClosed};
  Atomic<bool> asleep_{false};  ///< somebody may be asleep since the last wake()
  Atomic<bool> stopping_{false};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER;
};

}  // namespace zrt::inline ZRT_ABI::exec
