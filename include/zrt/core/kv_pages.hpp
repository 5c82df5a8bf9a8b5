// SPDX-License-Identifier: Apache-2.0
// zrt/core/kv_pages.hpp: how positions fill pages of keys and values.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// Positions per page of keys and values.
inline constexpr std::uint32_t kPageTokens = 16;

/// Pages that `positions` positions take.
[[nodiscard]] constexpr std::uint32_t pages_for(std::uint32_t positions) noexcept {
  return positions / kPageTokens + (positions % kPageTokens != 0 ? 1 : 0);
}

}  // namespace zrt::inline ZRT_ABI
