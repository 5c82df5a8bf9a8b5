// SPDX-License-Identifier: Apache-2.0
// tests/support/gated_workers.hpp: a thread hook whose workers begin at the same time.
#pragma once

#include <zrt/core/hooks.hpp>

#include <latch>
#include <thread>
#include <vector>

namespace zrt::test {

/// Each worker has a thread of its own and waits until all have come: a step cannot be over before another begins.
/// Threads are joined after every step.
class GatedWorkers {
 public:
  explicit GatedWorkers(std::uint32_t workers) : workers_(workers) {}

  /// Holds as long as this.
  [[nodiscard]] ThreadHook hook() noexcept {
    return {this,
            [](void* self, ThreadHook::Work work, void* argument) noexcept {
              static_cast<GatedWorkers*>(self)->run(work, argument);
            },
            workers_};
  }

 private:
  void run(ThreadHook::Work work, void* argument) {
    if (workers_ == 1) return work(argument, 0, 1);
    std::latch gate(workers_);
    std::vector<std::thread> pool;
    for (std::uint32_t i = 0; i < workers_; ++i)
      pool.emplace_back([&, i] {
        gate.arrive_and_wait();
        work(argument, i, workers_);
      });
    for (std::thread& thread : pool) thread.join();
  }

  std::uint32_t workers_;
};

}  // namespace zrt::test
