// SPDX-License-Identifier: Apache-2.0
// tests/support/memory_call.hpp: what a process asks of the C library and the kernel.
#pragma once

#include <cstdint>

enum class MemoryCall : std::uint8_t {
  allocate,
  release,
  map,  ///< mmap and munmap
};
