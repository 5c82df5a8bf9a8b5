// SPDX-License-Identifier: Apache-2.0
// tests/package/two_flags/bits.hpp: a digest of what zrt computes in the including unit.
#pragma once

#include <zrt/core/config.hpp>
#include <zrt/core/half.hpp>

#include <bit>
#include <cstdint>

// Internal linkage: each unit computes with the code that its own flags made. No arithmetic of its
// own on floats: the flags may contract what a test writes, never what zrt computes.
static inline std::uint64_t bits_of_these_flags() {
  std::uint64_t digest = 0xcbf29ce484222325u;
  for (std::uint32_t i = 0; i < 1u << 16; ++i) {
    const float value = std::bit_cast<float>(i * 0x9e3779b9u);
    digest = (digest ^ zrt::to_f16(value).bits) * 0x100000001b3u;
    const float wide = zrt::to_f32(zrt::Half{static_cast<std::uint16_t>(i)});
    digest = (digest ^ std::bit_cast<std::uint32_t>(wide)) * 0x100000001b3u;
  }
  return digest;
}
