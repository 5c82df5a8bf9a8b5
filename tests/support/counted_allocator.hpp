// SPDX-License-Identifier: Apache-2.0
// tests/support/counted_allocator.hpp: the system's allocator, with a count of what was asked of it.
#pragma once

#include <zrt/core/allocator.hpp>

#include <cstddef>

namespace zrt::test {

/// Outlives what uses its hook.
struct CountedAllocator {
  std::size_t calls = 0;

  [[nodiscard]] Allocator allocator() noexcept {
    return {this,
            [](void* context, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              ++static_cast<CountedAllocator*>(context)->calls;
              const Allocator system = system_allocator();
              return system.allocate(system.context, bytes, alignment);
            },
            [](void*, void* memory, std::size_t bytes, std::size_t alignment) noexcept {
              const Allocator system = system_allocator();
              system.release(system.context, memory, bytes, alignment);
            }};
  }
};

}  // namespace zrt::test
