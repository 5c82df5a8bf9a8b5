// SPDX-License-Identifier: Apache-2.0
// examples/zrt/counting_allocator.hpp: the system's allocator, with the bytes that are in use.
#pragma once

#include <zrt/core/allocator.hpp>

#include <atomic>
#include <cstdint>

namespace program {

/// Must outlive everything that was opened with its hook.
class CountingAllocator {
 public:
  [[nodiscard]] zrt::Allocator hook() noexcept {
    zrt::Allocator hook;
    hook.context = this;
    hook.allocate = [](void* self, std::size_t bytes, std::size_t alignment) noexcept -> void* {
      void* memory = zrt::system_allocator().allocate(nullptr, bytes, alignment);
      if (memory != nullptr) static_cast<CountingAllocator*>(self)->bytes_ += bytes;
      return memory;
    };
    hook.release = [](void* self, void* memory, std::size_t bytes, std::size_t alignment) noexcept {
      static_cast<CountingAllocator*>(self)->bytes_ -= bytes;
      zrt::system_allocator().release(nullptr, memory, bytes, alignment);
    };
    return hook;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace program
