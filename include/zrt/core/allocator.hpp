// SPDX-License-Identifier: Apache-2.0
// zrt/core/allocator.hpp: the host's allocator hook through which every allocation of the library goes.
#pragma once

#include <zrt/core/huge_pages.hpp>

#include <cstddef>
#include <cstdlib>

namespace zrt::inline ZRT_ABI {

/// Serves all memory of the library: two functions and a context.
///
/// `allocate` returns null when it fails; the call that needed the memory then returns Errc::out_of_memory. Any thread
/// that calls into the library may call both. Set both or none: an empty Allocator takes the C library's aligned_alloc
/// and free, and asks for huge pages behind memory of 2 MiB and more.
struct Allocator {
  void* context = nullptr;
  void* (*allocate)(void* context, std::size_t bytes, std::size_t alignment) noexcept =
      [](void*, std::size_t bytes, std::size_t alignment) noexcept -> void* {
    const std::size_t least = bytes < kHugePage ? alignof(std::max_align_t) : kHugePage;
    if (alignment < least) alignment = least;
    if (bytes > static_cast<std::size_t>(-1) - alignment) return nullptr;
    void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    if (bytes >= kHugePage && memory != nullptr) ask_for_huge_pages(memory, bytes);
    return memory;
  };
  void (*release)(void* context, void* memory, std::size_t bytes, std::size_t alignment) noexcept =
      [](void*, void* memory, std::size_t, std::size_t) noexcept { std::free(memory); };
};

/// Returns the allocator over the C library's aligned_alloc and free.
[[nodiscard]] inline Allocator system_allocator() noexcept { return {}; }

}  // namespace zrt::inline ZRT_ABI
