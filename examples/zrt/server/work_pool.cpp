// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/work_pool.cpp: the threads of the pool.
#include "work_pool.hpp"

#include <algorithm>
#include <utility>

namespace program::server {
namespace {

/// Work that was left, for one thread: a few times what it costs to wake another one.
constexpr std::size_t kLeftOfThread = 16;

}  // namespace

WorkPool::WorkPool(std::size_t threads, std::size_t most_waiting)
    : most_waiting_(most_waiting), most_running_(threads) {
  for (std::size_t i = 0; i < threads + 2; ++i) threads_.emplace_back([this] { run(); });
}

WorkPool::~WorkPool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkPool::try_post(std::string_view owner, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    auto found = std::find_if(owners_.begin(), owners_.end(), [&](const Owned& owned) { return owned.owner == owner; });
    // Who is the only one has all the room; where others wait, none keeps them out.
    const bool alone = owners_.empty() || (found != owners_.end() && owners_.size() == 1);
    const std::size_t mine = found == owners_.end() ? 0 : found->waiting.size();
    if (waiting_ >= most_waiting_ || (!alone && mine >= most_waiting_ / 2)) return false;
    if (found == owners_.end()) found = owners_.insert(owners_.end(), Owned{.owner = std::string(owner)});
    found->waiting.push_back(std::move(work));
    ++waiting_;
  }
  changed_.notify_one();
  return true;
}

void WorkPool::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void WorkPool::leave(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(work));
  ++left_;
}

void WorkPool::wake() {
  std::size_t left = 0;
  {
    const std::lock_guard lock(mutex_);
    // Threads that were awake have taken some of it.
    left = std::min(std::exchange(left_, 0), posted_.size());
  }
  for (std::size_t woken = 0; woken < left; woken += kLeftOfThread) changed_.notify_one();
}

/// Whose work runs next, or the end.
WorkPool::Turns::iterator WorkPool::next_turn() {
  const bool last = running_ >= most_running_;
  if (running_ > most_running_) return owners_.end();
  return std::find_if(owners_.begin(), owners_.end(), [&](const Owned& owned) {
    return !owned.waiting.empty() && (last ? owned.running == 0 : owned.running < most_running_);
  });
}

void WorkPool::run_posted(std::unique_lock<std::mutex>& lock) {
  std::function<void()> work = std::move(posted_.front());
  posted_.pop_front();
  lock.unlock();
  work();
  work = nullptr;  // What it held is freed without the mutex.
  lock.lock();
}

void WorkPool::run_long(std::unique_lock<std::mutex>& lock, Turns::iterator turn) {
  std::function<void()> work = std::move(turn->waiting.front());
  turn->waiting.pop_front();
  --waiting_, ++running_, ++turn->running;
  owners_.splice(owners_.end(), owners_, turn);
  lock.unlock();
  work();
  work = nullptr;
  lock.lock();
  --running_, --turn->running;
  if (turn->running == 0 && turn->waiting.empty()) owners_.erase(turn);
}

void WorkPool::run() {
  for (std::unique_lock lock(mutex_);;) {
    changed_.wait(lock, [this] { return ends_ || !posted_.empty() || next_turn() != owners_.end(); });
    if (!posted_.empty())
      run_posted(lock);
    else if (const auto turn = next_turn(); turn != owners_.end())
      run_long(lock, turn);
    else
      return;
  }
}

}  // namespace program::server
