// SPDX-License-Identifier: Apache-2.0
// zrt/core/hash.hpp: a hash of byte strings that is the same everywhere.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI {

/// FNV-1a with a final mix, 64 bits. Stable across platforms.
[[nodiscard]] constexpr std::uint64_t hash_bytes(std::string_view bytes) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

}  // namespace zrt::inline ZRT_ABI
