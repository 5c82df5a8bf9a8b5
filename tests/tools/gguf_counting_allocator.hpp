// SPDX-License-Identifier: Apache-2.0
// tests/tools/gguf_counting_allocator.hpp: an allocator hook that counts, and fails where it is told to.
#pragma once

#include <zrt/core/allocator.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::test {

/// Counts what lives and fails the allocation number `fail_at`.
struct CountingAllocator {
  std::uint64_t fail_at = ~std::uint64_t{0};
  std::uint64_t made = 0;
  std::size_t live = 0;
  std::size_t peak = 0;

  [[nodiscard]] Allocator hook() noexcept {
    return {this,
            [](void* context, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              auto* self = static_cast<CountingAllocator*>(context);
              if (self->made++ == self->fail_at) return nullptr;
              self->live += bytes;
              self->peak = self->live > self->peak ? self->live : self->peak;
              const Allocator system = system_allocator();
              return system.allocate(system.context, bytes, alignment);
            },
            [](void* context, void* memory, std::size_t bytes, std::size_t alignment) noexcept {
              static_cast<CountingAllocator*>(context)->live -= bytes;
              const Allocator system = system_allocator();
              system.release(system.context, memory, bytes, alignment);
            }};
  }
};

}  // namespace zrt::test
