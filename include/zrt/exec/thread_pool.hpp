// SPDX-License-Identifier: Apache-2.0
// zrt/exec/thread_pool.hpp: the default workers behind the thread hook.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/exec/patience.hpp>

#include <pthread.h>
#include <sched.h>

namespace zrt::inline ZRT_ABI::exec {

/// Workers that all run at the same time: the caller is worker 0, the others are threads.
///
/// Between steps they spin for about a millisecond, so that the next decode step starts without a
/// system call, then sleep. More workers than the process has cores do not spin: each would keep
/// one that another has work for. Neither copyable nor movable; hold it by Owned.
class ThreadPool {
 public:
  explicit ThreadPool(Allocator allocator) noexcept : threads_(allocator) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() { stop(); }

  /// Starts `workers - 1` threads.
  ///
  /// Errors: Errc::out_of_memory, Errc::io_error when the system has no more threads.
  [[nodiscard]] Result<void> start(std::uint32_t workers) noexcept {
    if (auto r = threads_.reserve(workers); !r) return r;
    workers_ = workers;
    spin_nanoseconds_ = workers <= cores() ? kSpinNanoseconds : 0;
    for (std::uint32_t i = 1; i < workers; ++i) {
      if (auto r = threads_.push_back({this, i, {}}); !r) return r;
      Thread& thread = threads_.back();
      if (const int code = pthread_create(&thread.handle, nullptr, &ThreadPool::main, &thread); code != 0) {
        threads_.pop_back();
        stop();
        return fail(Errc::io_error, "starting worker ", i, " failed with error ", code);
      }
    }
    return {};
  }

  [[nodiscard]] ThreadHook hook() noexcept { return {this, &ThreadPool::run, workers_, true}; }

 private:
  struct Thread {
    ThreadPool* pool;
    std::uint32_t index;
    pthread_t handle;
  };

  static constexpr std::uint64_t kSpinNanoseconds = 1'000'000;

  static void run(void* context, ThreadHook::Work work, void* argument) noexcept {
    auto& pool = *static_cast<ThreadPool*>(context);
    pool.work_ = work;
    pool.argument_ = argument;
    pool.running_.store(pool.workers_ - 1, MemoryOrder::relaxed);
    pool.round_.fetch_add(1, MemoryOrder::seq_cst);
    if (pool.sleeping_.load(MemoryOrder::seq_cst) != 0) pool.wake();
    work(argument, 0, pool.workers_);
    pool.joining_.wait([&] { return pool.running_.load(MemoryOrder::acquire) == 0; });
  }

  static void* main(void* argument) noexcept {
    const Thread& thread = *static_cast<Thread*>(argument);
    ThreadPool& pool = *thread.pool;
    for (std::uint32_t seen = 0; pool.await(seen);) {
      pool.work_(pool.argument_, thread.index, pool.workers_);
      pool.running_.fetch_sub(1, MemoryOrder::release);
    }
    return nullptr;
  }

  /// Waits for the round after `seen`; false when the pool stops.
  bool await(std::uint32_t& seen) noexcept {
    std::uint64_t since = 0;
    for (std::uint32_t spins = 1; round_.load(MemoryOrder::acquire) == seen; ++spins) {
      Patience::pause();
      if (spins % 1024 != 0 && spin_nanoseconds_ != 0) continue;
      const std::uint64_t now = monotonic_clock()();
      if (since == 0) since = now;
      if (now - since >= spin_nanoseconds_) sleep_until_after(seen);
    }
    ++seen;
    return !stopping_.load(MemoryOrder::acquire);
  }

  void sleep_until_after(std::uint32_t seen) noexcept {
    (void)pthread_mutex_lock(&mutex_);
    // Announced before the last look at the round: run() looks at `sleeping_` after raising it.
    sleeping_.fetch_add(1, MemoryOrder::seq_cst);
    while (round_.load(MemoryOrder::seq_cst) == seen) (void)pthread_cond_wait(&wake_, &mutex_);
    sleeping_.fetch_sub(1, MemoryOrder::seq_cst);
    (void)pthread_mutex_unlock(&mutex_);
  }

  /// Wakes all who sleep, by one system call.
  ///
  /// Nobody is between the last look at the round and the sleep once the lock was had. It is given back before the
  /// call: a worker that wakes while it is held would have to be woken a second time.
  void wake() noexcept {
    (void)pthread_mutex_lock(&mutex_);
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

  /// Cores that the process may use, as its affinity mask says; all when there is no telling.
  [[nodiscard]] static std::uint32_t cores() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return ~std::uint32_t{0};
    return static_cast<std::uint32_t>(CPU_COUNT(&set));
  }

  Vector<Thread> threads_;
  std::uint32_t workers_ = 1;
  std::uint64_t spin_nanoseconds_ = kSpinNanoseconds;
  Patience joining_;
  ThreadHook::Work work_ = nullptr;
  void* argument_ = nullptr;
  alignas(64) Atomic<std::uint32_t> round_{0};
  alignas(64) Atomic<std::uint32_t> running_{0};
  Atomic<std::uint32_t> sleeping_{0};
  Atomic<bool> stopping_{false};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER;
};

}  // namespace zrt::inline ZRT_ABI::exec
