// SPDX-License-Identifier: Apache-2.0
// zrt/engine/held_memory.hpp: how much memory an engine holds, and for what.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// Bytes of host and device together.
struct HeldMemory {
  std::uint64_t weights = 0;  ///< tensors of the file that a step reads, and packed or uploaded copies of them
  std::uint64_t caches = 0;   ///< keys, values and recurrent state, with kept states and texts that are guessed from
  std::uint64_t work = 0;     ///< arenas, and programs of a card

  [[nodiscard]] std::uint64_t total() const noexcept { return weights + caches + work; }
};

}  // namespace zrt::inline ZRT_ABI
