// SPDX-License-Identifier: Apache-2.0
// zrt/core/huge_pages.hpp: memory in pages of 2 MiB, where Linux has them.
#pragma once

#include <zrt/core/config.hpp>

#include <cstddef>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace zrt::inline ZRT_ABI {

/// Bytes of a huge page, and its alignment, where pages have 4 KiB.
inline constexpr std::size_t kHugePage = std::size_t{1} << 21;

/// Asks for huge pages behind the `bytes` from `memory` on, which begin with one. Weights that fill many pages of 4 KiB
/// are read with a miss of the address cache in each. It is a wish: what the system refuses stays in small pages.
inline void ask_for_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace zrt::inline ZRT_ABI
