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
  for (std::size_t i = 0; i <= threads; ++i) threads_.emplace_back([this] { run(); });
}

WorkPool::~WorkPool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkPool::try_post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_waiting_) return false;
    waiting_.push_back(std::move(work));
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

std::deque<std::function<void()>>* WorkPool::next() {
  if (!posted_.empty()) return &posted_;
  return !waiting_.empty() && running_ < most_running_ ? &waiting_ : nullptr;
}

void WorkPool::run() {
  for (std::unique_lock lock(mutex_);;) {
    changed_.wait(lock, [this] { return ends_ || next() != nullptr; });
    auto* const from = next();
    if (from == nullptr) return;
    const bool long_one = from == &waiting_;
    std::function<void()> work = std::move(from->front());
    from->pop_front();
    if (long_one) ++running_;
    lock.unlock();
    work();
    work = nullptr;  // What it held is freed without the mutex.
    lock.lock();
    if (long_one) --running_;
  }
}

}  // namespace program::server
