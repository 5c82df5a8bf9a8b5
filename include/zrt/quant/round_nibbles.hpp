// SPDX-License-Identifier: Apache-2.0
// zrt/quant/round_nibbles.hpp: rounding of a group of numbers to 4-bit integers with one scale.
#pragma once

#include <zrt/core/config.hpp>
#include <zrt/core/elementary_ops.hpp>

#include <bit>
#include <cstdint>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Rounds one group of `count` values and returns its scale d = e / -8, where e is the largest by magnitude; of -e and e
/// the negative one.
///
/// q = nearest-even of x * (-8 / e), at most 7, within -8..7, so that e is exact but for its scale. A group whose scale
/// has no finite inverse has d = 0 and q = 0. A group with a NaN or an infinity has d = NaN and q = 0.
[[nodiscard]] inline float round_nibbles(const float* x, std::uint32_t count, std::int8_t* q) noexcept {
  float low = 0.0f;
  float high = 0.0f;
  bool finite = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    finite = finite && (std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu) < 0x7f800000u;
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  const float extreme = -low >= high ? low : high;
  const float inverse = -8.0f / extreme;
  if (!finite || (std::bit_cast<std::uint32_t>(inverse) & 0x7fffffffu) >= 0x7f800000u) {
    for (std::uint32_t i = 0; i < count; ++i) q[i] = 0;
    return finite ? 0.0f : std::bit_cast<float>(0x7fc00000u);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int32_t rounded = math::to_i32(x[i] * inverse);
    q[i] = static_cast<std::int8_t>(rounded > 7 ? 7 : rounded < -8 ? -8 : rounded);
  }
  return extreme / -8.0f;
}

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
