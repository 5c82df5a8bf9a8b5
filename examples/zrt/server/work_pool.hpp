// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/work_pool.hpp: a few threads that run what others post.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace program::server {

/// Threads that run posted work in its order, and long work of several owners in turns. The destructor runs what is
/// posted, then joins.
class WorkPool {
 public:
  WorkPool(std::size_t threads, std::size_t most_waiting);
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;
  ~WorkPool();

  /// Long work of an owner, a tenant. False when too much waits, or too much of this owner's while half of the room is
  /// taken; then the work is dropped.
  ///
  /// Of all that wait the owners take turns. One runs on `threads` threads at most; one more is for owners that run
  /// nothing, and another one is left to what `post` brings.
  [[nodiscard]] bool try_post(std::string_view owner, std::function<void()> work);
  /// For short work that is bounded elsewhere; it goes first.
  void post(std::function<void()> work);
  /// As `post`, but no thread wakes for it before `wake` is called: to wake a thread takes as long as much of such work.
  void leave(std::function<void()> work);
  /// Wakes as many threads as there is work that was left.
  void wake();

 private:
  /// Work of an owner that waits or runs.
  struct Owned {
    std::string owner;
    std::deque<std::function<void()>> waiting{};
    std::size_t running = 0;
  };
  using Turns = std::list<Owned>;

  void run();
  void run_posted(std::unique_lock<std::mutex>& lock);
  void run_long(std::unique_lock<std::mutex>& lock, Turns::iterator turn);
  [[nodiscard]] Turns::iterator next_turn();

  std::mutex mutex_;
  std::condition_variable changed_;
  Turns owners_;             ///< whose turn is next in front
  std::size_t waiting_ = 0;  ///< of all owners
  std::deque<std::function<void()>> posted_;
  std::size_t most_waiting_;
  std::size_t most_running_;  ///< of one owner
  std::size_t running_ = 0;   ///< of all owners
  std::size_t left_ = 0;      ///< since the last `wake`
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace program::server
