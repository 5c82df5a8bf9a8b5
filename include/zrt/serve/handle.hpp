// SPDX-License-Identifier: Apache-2.0
// zrt/serve/handle.hpp: numbers of rows that stay unique when rows are used again.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

inline constexpr std::uint32_t kNone = ~0u;

/// Names a tenant, a session or a request: its row, and how often the row was used. 0 names none.
using Handle = std::uint64_t;

[[nodiscard]] constexpr Handle handle_of(std::uint32_t row, std::uint32_t generation) noexcept {
  return (std::uint64_t{generation} << 32) | row;
}
[[nodiscard]] constexpr std::uint32_t row_of(Handle handle) noexcept { return static_cast<std::uint32_t>(handle); }
[[nodiscard]] constexpr std::uint32_t generation_of(Handle handle) noexcept {
  return static_cast<std::uint32_t>(handle >> 32);
}

}  // namespace zrt::inline ZRT_ABI::serve
