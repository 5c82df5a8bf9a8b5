// SPDX-License-Identifier: Apache-2.0
// zrt/core/checksum.hpp: a checksum that finds damaged bytes.
#pragma once

#include <zrt/core/span.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// Returns a 64-bit checksum of `bytes`, the same on every machine. It guards against damage, not against intent.
///
/// Any change within one aligned word of 8 bytes changes the result: each step maps the state one to one for a given
/// word, and the word one to one for a given state. Other changes escape with probability 2^-64.
[[nodiscard]] constexpr std::uint64_t checksum(Span<const std::byte> bytes) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;
  // Four chains hide the multiplier's latency: a snapshot may have hundreds of megabytes.
  std::array<std::uint64_t, 4> chains{1, 2, 3, 4};
  const auto word = [&](std::size_t at, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t b = 0; b < count; ++b) value |= std::uint64_t{static_cast<std::uint8_t>(bytes[at + b])} << 8 * b;
    return value;
  };
  const auto step = [](std::uint64_t& chain, std::uint64_t value) {
    chain = (chain ^ value) * kOdd;
    chain ^= chain >> 32;
  };
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32)
    for (std::size_t c = 0; c < 4; ++c) step(chains[c], word(at + 8 * c, 8));
  for (; at < bytes.size(); at += 8) step(chains[0], word(at, bytes.size() - at < 8 ? bytes.size() - at : 8));
  std::uint64_t result = bytes.size();
  for (std::uint64_t chain : chains) step(result, chain);
  return result;
}

}  // namespace zrt::inline ZRT_ABI
