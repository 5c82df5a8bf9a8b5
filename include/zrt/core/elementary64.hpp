// SPDX-License-Identifier: Apache-2.0
// zrt/core/elementary64.hpp: exp, log, pow, sin, cos, tanh and erf of f64, without libm.
#pragma once

#include <zrt/core/config.hpp>
#include <zrt/core/elementary_angle64.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::math {

namespace detail {

/// 1/0!, 1/1!, ...
inline constexpr std::array<double, 20> kInverseFactorials = [] {
  std::array<double, 20> table{};
  double factorial = 1;
  for (std::size_t k = 0; k < table.size(); ++k) {
    if (k > 0) factorial *= static_cast<double>(k);  // exact up to 18!, rounded once at 19!
    table[k] = 1.0 / factorial;
  }
  return table;
}();

/// The nearest whole number of |x| < 2^51, by comparison instead of a sum that could be fused.
[[nodiscard]] constexpr std::int64_t nearest_whole(double product) noexcept {
  const double x = sealed(product);
  const auto whole = static_cast<std::int64_t>(x);
  const double rest = x - static_cast<double>(whole);
  return rest > 0.5 ? whole + 1 : rest < -0.5 ? whole - 1 : whole;
}

[[nodiscard]] constexpr double pow2_64(std::int64_t n) noexcept {
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

}  // namespace detail

/// e^x within 2 ulp; overflow gives infinity, and what is denormal is rounded once more.
[[nodiscard]] constexpr double exp64(double x) noexcept {
  if (x != x) return x;
  if (x > 709.7)
    return x > 709.782712893384 ? std::bit_cast<double>(0x7ff0000000000000u)
                                : sealed(exp64(x - 1.0) * 0x1.5bf0a8b145769p+1);
  if (x < -746.0) return 0.0;
  const std::int64_t n = detail::nearest_whole(x * 0x1.71547652b82fep+0);
  const auto whole = static_cast<double>(n);
  double r = __builtin_fma(whole, -0x1.62e42fefa39efp-1, x);
  r = __builtin_fma(whole, -0x1.abc9e3b39803fp-56, r);
  double p = detail::kInverseFactorials[14];
  for (std::size_t k = 14; k-- > 0;) p = __builtin_fma(p, r, detail::kInverseFactorials[k]);
  const std::int64_t half = n / 2;
  return sealed(p * detail::pow2_64(half) * detail::pow2_64(n - half));
}

/// The natural logarithm within 2 ulp, 4 ulp near 1.
[[nodiscard]] constexpr double log64(double x) noexcept {
  const bool tiny = x < 0x1p-1022;
  const auto bits = std::bit_cast<std::uint64_t>(tiny ? x * 0x1p54 : x);
  if (x != x || x < 0) return std::bit_cast<double>(0x7ff8000000000000u);
  if (bits == 0x7ff0000000000000u) return x;
  if (x == 0) return std::bit_cast<double>(0xfff0000000000000u);
  // x = 2^k * m with m in [sqrt(1/2), sqrt(2)).
  const std::int64_t k = static_cast<std::int64_t>(bits - 0x3fe6a09e667f3bcdu) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52));
  const double f = m - 1.0;
  const double s = f / (m + 1.0);
  const double z = s * s;
  // log(m) = 2 (s + s^3/3 + s^5/5 + ...); s^2 <= 0.0295, so that the term left out is below 2^-60.
  double p = 1.0 / 23.0;
  for (int odd = 21; odd >= 3; odd -= 2) p = __builtin_fma(p, z, 1.0 / odd);
  const double twice = s + s;
  const double fraction = __builtin_fma(twice * z, p, twice);
  const auto exponent = static_cast<double>(tiny ? k - 54 : k);
  return __builtin_fma(exponent, 0x1.62e42fefa39efp-1, __builtin_fma(exponent, 0x1.abc9e3b39803fp-56, fraction));
}

/// x^y for x > 0, as exp64(y * log64(x)): relative error below (2 + 2 |y log x|) 2^-52.
[[nodiscard]] constexpr double pow64(double x, double y) noexcept { return exp64(y * log64(x)); }

/// The sine and cosine of one angle in radians.
struct SinCos64 {
  double sin;
  double cos;
};

/// Sine and cosine of every finite angle, absolute error below 2^-52; NaN for infinities.
[[nodiscard]] constexpr SinCos64 sincos64(double x) noexcept {
  if (x != x || x - x != 0) {
    const double nan = std::bit_cast<double>(0x7ff8000000000000u);
    return {nan, nan};
  }
  // The reduction loses the sign of -0.
  if (x == 0) return {x, 1.0};
  std::int64_t n = 0;
  double r = 0;
  if (x <= 0x1p30 && x >= -0x1p30) {
    n = detail::nearest_whole(x * 0x1.45f306dc9c883p-1);
    const auto whole = static_cast<double>(n);
    r = __builtin_fma(whole, -0x1.921fb54442d18p+0, x);
    r = __builtin_fma(whole, -0x1.1a62633145c07p-54, r);
    r = __builtin_fma(whole, 0x1.f1976b7ed8fbcp-110, r);
  } else {
    const ReducedAngle64 reduced = reduce_large_angle64(x);
    n = reduced.quarter;
    r = reduced.rest;
  }
  const double z = -(r * r);
  double s = detail::kInverseFactorials[19];
  double c = detail::kInverseFactorials[18];
  for (std::size_t k = 17; k >= 3; k -= 2) {
    s = __builtin_fma(s, z, detail::kInverseFactorials[k]);
    c = __builtin_fma(c, z, detail::kInverseFactorials[k - 1]);
  }
  const double sine = __builtin_fma(r * z, s, r);
  const double cosine = __builtin_fma(c, z, 1.0);
  switch (n & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

[[nodiscard]] constexpr double sin64(double x) noexcept { return sincos64(x).sin; }
[[nodiscard]] constexpr double cos64(double x) noexcept { return sincos64(x).cos; }

/// The hyperbolic tangent within 4 ulp.
[[nodiscard]] constexpr double tanh64(double x) noexcept {
  if (x != x) return x;
  const double a = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7fffffffffffffffu);
  const double y = a + a;
  double above_one = 0;  // e^y - 1
  if (y <= 1.0) {
    // The first term left out is 1/20! of the sum.
    double p = detail::kInverseFactorials[19];
    for (std::size_t k = 18; k >= 1; --k) p = __builtin_fma(p, y, detail::kInverseFactorials[k]);
    above_one = sealed(p * y);
  } else if (y < 44.0) {
    above_one = exp64(y) - 1.0;
  } else {
    return x < 0 ? -1.0 : 1.0;
  }
  const double result = above_one / (above_one + 2.0);
  return std::bit_cast<std::uint64_t>(x) >> 63 != 0 ? -result : result;
}

namespace detail {

/// The error function and its derivative at a multiple of 1/4.
struct ErfPoint {
  double value, slope;
};
inline constexpr auto kErfPoints = std::to_array<ErfPoint>({
    {0x0.0p+0, 0x1.20dd750429b6dp+0},
    {0x1.1af54e232d609p-2, 0x1.0f5d1602f7e41p+0},
    {0x1.0a7ef5c18edd2p-1, 0x1.c1efca49a5011p-1},
    {0x1.6c1c9759d0e5fp-1, 0x1.492e42d78d2c5p-1},
    {0x1.af767a741088bp-1, 0x1.a911f096fbc26p-2},
    {0x1.d8865d98abe01p-1, 0x1.e4652fadcb6b2p-3},
    {0x1.eea5557137ae0p-1, 0x1.e723726b824a9p-4},
    {0x1.f92d077f8d56dp-1, 0x1.b055303221015p-5},
    {0x1.fd9ae142795e3p-1, 0x1.529b9e8cf9a1ep-6},
    {0x1.ff404760319b4p-1, 0x1.d4143a9dfe965p-8},
    {0x1.ffcaa8f4c9beap-1, 0x1.1d83170fbf6fbp-9},
    {0x1.fff2cfb0453d9p-1, 0x1.3360ccd23db3ap-11},
    {0x1.fffd1ac4135f9p-1, 0x1.2408e9ba3327fp-13},
    {0x1.ffff6f9f67e55p-1, 0x1.e9b5e8d00ce77p-16},
    {0x1.ffffe710d565ep-1, 0x1.6a597219a93dap-18},
    {0x1.fffffc2f171e3p-1, 0x1.d9371e2ff7c35p-21},
    {0x1.ffffff7b91176p-1, 0x1.10b1488aeb235p-23},
    {0x1.fffffff01a8b6p-1, 0x1.155a09065d4f7p-26},
    {0x1.fffffffe4fa30p-1, 0x1.f1e3523b41d7dp-30},
    {0x1.ffffffffd759dp-1, 0x1.8a61745ec7d1dp-33},
    {0x1.fffffffffc9e8p-1, 0x1.13af4f04f9998p-36},
    {0x1.ffffffffffc05p-1, 0x1.5422ef5d8949dp-40},
    {0x1.fffffffffffbep-1, 0x1.7258610b3b233p-44},
    {0x1.ffffffffffffcp-1, 0x1.63daf8b4b1e0cp-48},
    {0x1.0000000000000p+0, 0x1.2dc119095729fp-52},
});

}  // namespace detail

/// The error function within 5 ulp.
///
/// A Taylor series around the nearest multiple of 1/4, at most 1/8 away: for f = (2/sqrt pi) e^-x^2 the
/// coefficients follow (n + 1) c[n + 1] = -2a c[n] - 2 c[n - 1].
[[nodiscard]] constexpr double erf64(double x) noexcept {
  if (x != x) return x;
  const double a = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7fffffffffffffffu);
  if (a >= 6.0) return x < 0 ? -1.0 : 1.0;
  const auto point = static_cast<std::size_t>(sealed(a * 4.0) + 0.5);
  const double at = static_cast<double>(point) * 0.25;
  const double h = a - at;
  // previous and current are c[n - 1] h^(n - 1) and c[n] h^n over the slope.
  double previous = 0.0;
  double current = 1.0;
  double sum = 1.0;
  for (int n = 0; n < 24; ++n) {
    const double inner = __builtin_fma(at, current, sealed(previous * h));
    const double next = sealed(sealed(-2.0 * inner) * h) / (n + 1);
    previous = current;
    current = next;
    sum += current / (n + 2);
  }
  const double step = sealed(detail::kErfPoints[point].slope * h);
  const double result = point == 0 ? sealed(step * sum) : __builtin_fma(step, sum, detail::kErfPoints[point].value);
  return std::bit_cast<std::uint64_t>(x) >> 63 != 0 ? -result : result;
}

}  // namespace zrt::inline ZRT_ABI::math
ZRT_FP_END
