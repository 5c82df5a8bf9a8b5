// SPDX-License-Identifier: Apache-2.0
// zrt/core/elementary_angle.hpp: reduction of large angles by the bits of 2/pi, in integers.
#pragma once

#include <zrt/core/config.hpp>

#include <bit>
#include <cstdint>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::math {

/// An angle as `quarter` times pi/2 plus `rest`, with |rest| <= pi/4 and quarter in 0..3.
struct ReducedAngle {
  float rest;
  float quarter;
};

/// Reduces a finite angle with |x| >= 2^20; rest is within one ulp. NaN for NaN and infinities.
[[nodiscard]] inline ReducedAngle reduce_large_angle(float x) noexcept {
  // 2/pi in 256 bits after the point, with a word of zeros before it.
  constexpr std::uint32_t kTwoOverPi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                          0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t exponent = (bits >> 23) & 255u;
  if (exponent == 255u) return {std::bit_cast<float>(0x7fc00000u), 0.0f};
  if (exponent < 127u + 20u) return {x, 0.0f};
  // x = mantissa * 2^e with e = exponent - 150. The bits of 2/pi up to number e - 2 give multiples
  // of four quarters; the 96 bits after them, times the mantissa, give the angle in full turns.
  const std::uint64_t mantissa = (bits & 0x7fffffu) | 0x800000u;
  const std::uint32_t skip = exponent - 150u - 2u + 32u;
  auto word = [&](std::uint32_t at) -> std::uint64_t {
    const std::uint32_t i = at / 32, shift = at % 32;
    const std::uint64_t pair = static_cast<std::uint64_t>(kTwoOverPi[i]) << 32 | kTwoOverPi[i + 1];
    return (pair >> (32 - shift)) & 0xffffffffu;
  };
  const std::uint64_t high = word(skip) << 32 | word(skip + 32);
  const std::uint64_t turns = mantissa * high + ((mantissa * word(skip + 64)) >> 32);
  const std::uint64_t quarter = (turns + (std::uint64_t{1} << 61)) >> 62;
  const auto rest = static_cast<std::int64_t>(turns - (quarter << 62));
  const double angle = static_cast<double>(rest) * (0x1.921fb54442d18p+0 * 0x1p-62);
  const auto folded = static_cast<float>(quarter & 3u);
  if ((bits >> 31) == 0) return {static_cast<float>(angle), folded};
  return {static_cast<float>(-angle), static_cast<float>((4u - (quarter & 3u)) & 3u)};
}

[[nodiscard]] inline float large_angle_rest(float x) noexcept { return reduce_large_angle(x).rest; }
[[nodiscard]] inline float large_angle_quarter(float x) noexcept { return reduce_large_angle(x).quarter; }

}  // namespace zrt::inline ZRT_ABI::math
ZRT_FP_END
