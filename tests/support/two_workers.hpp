// SPDX-License-Identifier: Apache-2.0
// tests/support/two_workers.hpp: a thread hook with two threads that run at the same time.
#pragma once

#include <zrt/core/hooks.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace zrt::test {

/// The caller is worker 0, one thread of its own is worker 1.
class TwoWorkers {
 public:
  TwoWorkers() : thread_([this] { serve(); }) {}
  ~TwoWorkers() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  TwoWorkers(const TwoWorkers&) = delete;
  TwoWorkers& operator=(const TwoWorkers&) = delete;

  [[nodiscard]] ThreadHook hook() noexcept {
    return {this,
            [](void* self, ThreadHook::Work work, void* argument) noexcept {
              static_cast<TwoWorkers*>(self)->run(work, argument);
            },
            2};
  }

 private:
  void run(ThreadHook::Work work, void* argument) {
    {
      const std::lock_guard lock(mutex_);
      work_ = work;
      argument_ = argument;
    }
    changed_.notify_all();
    work(argument, 0, 2);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_ == nullptr; });
  }
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return quit_ || work_ != nullptr; });
      if (quit_) return;
      const ThreadHook::Work work = work_;
      void* argument = argument_;
      lock.unlock();
      work(argument, 1, 2);
      lock.lock();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  bool quit_ = false;
  ThreadHook::Work work_ = nullptr;
  void* argument_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace zrt::test
