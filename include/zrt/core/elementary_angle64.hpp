// SPDX-License-Identifier: Apache-2.0
// zrt/core/elementary_angle64.hpp: reduction of large f64 angles by the bits of 2/pi, in integers.
#pragma once

#include <zrt/core/elementary_ops.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::math {

namespace detail {

/// 2/pi in 1280 bits after the point, with a word of zeros before it.
inline constexpr auto kTwoOverPi = std::to_array<std::uint32_t>({
    0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026,
    0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f,
    0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
    0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d,
});

}  // namespace detail

/// An angle as `quarter` times pi/2 plus `rest`, with |rest| <= pi/4 and quarter in 0..3.
struct ReducedAngle64 {
  double rest;
  std::int64_t quarter;
};

/// Reduces a finite angle with |x| >= 2^30; rest is within one ulp.
[[nodiscard]] constexpr ReducedAngle64 reduce_large_angle64(double x) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<std::uint32_t>(bits >> 52) & 0x7ffu;
  const std::uint64_t mantissa = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  // x = mantissa * 2^e with e = exponent - 1075. The bits of 2/pi up to number e - 2 give multiples of
  // four quarters; the 192 bits after them, times the mantissa, give the angle in full turns.
  const std::uint32_t skip = exponent - 1075u - 2u + 32u;
  std::array<std::uint32_t, 6> turns{};  // the lowest word first
  std::array<std::uint32_t, 2> factor{static_cast<std::uint32_t>(mantissa), static_cast<std::uint32_t>(mantissa >> 32)};
  for (std::size_t j = 0; j < factor.size(); ++j) {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i + j < turns.size(); ++i) {
      const std::uint32_t at = skip + 32u * static_cast<std::uint32_t>(turns.size() - 1 - i);
      const std::uint64_t pair =
          static_cast<std::uint64_t>(detail::kTwoOverPi[at / 32]) << 32 | detail::kTwoOverPi[at / 32 + 1];
      const std::uint64_t word = (pair >> (32 - at % 32)) & 0xffffffffu;
      carry += word * factor[j] + turns[i + j];
      turns[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  const std::uint32_t quarter = ((turns[5] >> 29) + 1u) >> 1 & 3u;
  // What is left lies within half a quarter of zero: a number of 192 bits and a sign.
  turns[5] -= quarter << 30;
  const bool negative = turns[5] >> 31 != 0;
  if (negative) {
    std::uint64_t carry = 1;
    for (std::uint32_t& word : turns) {
      carry += static_cast<std::uint32_t>(~word);
      word = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  std::size_t top = 5;
  while (top > 3 && turns[top] == 0) --top;
  const std::uint64_t upper = static_cast<std::uint64_t>(turns[top]) << 32 | turns[top - 1];
  const std::uint64_t lower = static_cast<std::uint64_t>(turns[top - 2]) << 32 | turns[top - 3];
  const auto high = static_cast<double>(upper & ~std::uint64_t{0x7ff});
  const double low = static_cast<double>((upper & 0x7ffu) << 53 | lower >> 11) * 0x1p-53;
  const double product = sealed(high * 0x1.921fb54442d18p+0);
  const double lost = __builtin_fma(high, 0x1.921fb54442d18p+0, -product) +
                      __builtin_fma(high, 0x1.1a62633145c07p-54, low * 0x1.921fb54442d18p+0);
  double rest = product + lost;
  // The lowest bit of the upper word pair weighs 2^(32 (top - 1) - 190) quarters.
  for (std::size_t i = top; i < 5; ++i) rest = sealed(rest * 0x1p-32);
  rest = sealed(rest * 0x1p-62);
  const bool below = bits >> 63 != 0;
  return {negative != below ? -rest : rest, below ? (4 - std::int64_t{quarter}) & 3 : std::int64_t{quarter}};
}

}  // namespace zrt::inline ZRT_ABI::math
ZRT_FP_END
