// SPDX-License-Identifier: Apache-2.0
// zrt/engine/wait_hook.hpp: how an engine waits where a step would find nothing to do.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>
#include <time.h>

namespace zrt::inline ZRT_ABI {

/// Waits at most so many nanoseconds of the host's clock. Without a function the engine asks for the time again and
/// again.
struct WaitHook {
  void* context = nullptr;
  void (*wait)(void* context, std::uint64_t nanoseconds) noexcept = nullptr;

  void operator()(std::uint64_t nanoseconds) const noexcept {
    if (wait != nullptr) wait(context, nanoseconds);
  }
};

/// Lets the calling thread sleep.
[[nodiscard]] inline WaitHook thread_sleep() noexcept {
  return {nullptr, [](void*, std::uint64_t nanoseconds) noexcept {
            const timespec t{static_cast<time_t>(nanoseconds / 1'000'000'000u),
                             static_cast<long>(nanoseconds % 1'000'000'000u)};
            (void)nanosleep(&t, nullptr);
          }};
}

}  // namespace zrt::inline ZRT_ABI
