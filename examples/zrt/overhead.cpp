// SPDX-License-Identifier: Apache-2.0
// examples/zrt/overhead.cpp: what replaying an instruction costs when its kernel does nothing.
#include "overhead.hpp"
#include <zrt/exec/host_program.hpp>
#include <zrt/exec/thread_pool.hpp>

#include <algorithm>
#include <chrono>

namespace program {
namespace {

/// As large as an op's typed arguments.
struct EmptyCall {
  std::byte operands[128];
};

void run_nothing(const EmptyCall&, const zrt::ExecutionContext&, const zrt::Worker&) noexcept {}

}  // namespace

double replay_overhead(std::uint32_t instructions, std::uint32_t threads) {
  using Clock = std::chrono::steady_clock;
  zrt::exec::HostProgram program;
  for (std::uint32_t i = 0; i < instructions; ++i)
    if (!program.push(&run_nothing, EmptyCall{}, i, {}, true)) return 0.0;
  zrt::exec::ThreadPool pool(zrt::system_allocator());
  if (threads > 1 && !pool.start(threads)) return 0.0;
  const zrt::ThreadHook hook = threads > 1 ? pool.hook() : zrt::ThreadHook{};
  double best = 1e30;
  for (int repeat = 0; repeat < 200; ++repeat) {
    const auto start = Clock::now();
    (void)program.launch(zrt::ExecutionContext{}, hook, {});
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  return best / instructions;
}

}  // namespace program
