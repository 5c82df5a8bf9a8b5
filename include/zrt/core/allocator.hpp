// SPDX-License-Identifier: Apache-2.0
// zrt/core/allocator.hpp: the host's allocator hook through which every allocation of the library goes.
#pragma once

#include <zrt/core/config.hpp>

#include <cstddef>
#include <cstdlib>

namespace zrt::inline ZRT_ABI {

/// Two functions and a context that serve all memory of the library.
///
/// `allocate` returns null when it fails and then the call that needed it reports
/// Errc::out_of_memory. Both may be called from any thread that calls into the library. A host sets
/// both or none: those of an empty Allocator are the C library's aligned_alloc and free.
struct Allocator {
  void* context = nullptr;
  void* (*allocate)(void* context, std::size_t bytes, std::size_t alignment) noexcept =
      [](void*, std::size_t bytes, std::size_t alignment) noexcept -> void* {
    if (alignment < alignof(std::max_align_t)) alignment = alignof(std::max_align_t);
    if (bytes > static_cast<std::size_t>(-1) - alignment) return nullptr;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
  };
  void (*release)(void* context, void* memory, std::size_t bytes, std::size_t alignment) noexcept =
      [](void*, void* memory, std::size_t, std::size_t) noexcept { std::free(memory); };
};

/// Returns the allocator over the C library's aligned_alloc and free.
[[nodiscard]] inline Allocator system_allocator() noexcept { return {}; }

}  // namespace zrt::inline ZRT_ABI
