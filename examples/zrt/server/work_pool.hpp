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
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace program::server
