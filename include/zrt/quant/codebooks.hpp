// SPDX-License-Identifier: Apache-2.0
// zrt/quant/codebooks.hpp: four-bit values that stand for one of 16 integers.
#pragma once

#include <zrt/quant/forms.hpp>

namespace zrt::inline ZRT_ABI::quant {

/// The integers of IQ4_NL and IQ4_XS.
inline constexpr std::int8_t kIq4Levels[16]{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// Twice the E2M1 floats of MXFP4 and NVFP4: a sign, two bits of exponent, one of fraction.
inline constexpr std::int8_t kE2m1Levels[16]{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Writes what the halves of `count` bytes stand for, in the order of split_halves.
constexpr void look_up_halves(const std::int8_t* levels, const std::byte* bytes, std::uint32_t count,
                              std::int8_t* q) noexcept {
  split_halves(bytes, count, q);
  for (std::uint32_t j = 0; j < 2 * count; ++j) q[j] = levels[q[j]];
}

/// The inverse of look_up_halves.
template <class Integers>
constexpr void find_halves(const std::int8_t* q, std::uint32_t count, std::byte* bytes) noexcept {
  for (std::uint32_t j = 0; j < count; ++j)
    bytes[j] = static_cast<std::byte>(Integers::code(q[j]) | Integers::code(q[j + count]) << 4);
}

}  // namespace zrt::inline ZRT_ABI::quant
