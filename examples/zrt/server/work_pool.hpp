// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/work_pool.hpp: a few threads that run what others post.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace program::server {

/// Threads that run posted work in its order. The destructor runs what is posted, then joins.
class WorkPool {
 public:
  WorkPool(std::size_t threads, std::size_t most_waiting);
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;
  ~WorkPool();

  /// False when too much waits; then the work is dropped. One thread is left to what `post` brings.
  [[nodiscard]] bool try_post(std::function<void()> work);
  /// For short work that is bounded elsewhere; it goes first.
  void post(std::function<void()> work);
  /// As `post`, but no thread wakes for it before `wake` is called: to wake a thread takes as long as much of such work.
  void leave(std::function<void()> work);
  /// Wakes as many threads as there is work that was left.
  void wake();

 private:
  void run();
  std::deque<std::function<void()>>* next();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::deque<std::function<void()>> posted_;
  std::size_t most_waiting_;
  std::size_t most_running_;  ///< of what waited
  std::size_t running_ = 0;
  std::size_t left_ = 0;  ///< since the last `wake`
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace program::server
