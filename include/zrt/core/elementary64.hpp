// SPDX-License-Identifier: Apache-2.0
// zrt/core/elementary64.hpp: exp, log, pow, sin and cos of f64, for tables computed when a model is loaded.
#pragma once

#include <zrt/core/config.hpp>

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

/// Returns `x` as a rounded f64 that no compiler may fuse with the operation that made it.
[[nodiscard]] ZRT_ALWAYS_INLINE constexpr double sealed64(double x) noexcept {
  if (!__builtin_is_constant_evaluated()) {
#if defined(__x86_64__)
    __asm__("" : "+x"(x));
#elif defined(__aarch64__)
    __asm__("" : "+w"(x));
#else
    __asm__("" : "+m"(x));
#endif
  }
  return x;
}

/// The nearest whole number of |x| < 2^51, by comparison instead of a sum that could be fused.
[[nodiscard]] constexpr std::int64_t nearest_whole(double product) noexcept {
  const double x = sealed64(product);
  const auto whole = static_cast<std::int64_t>(x);
  const double rest = x - static_cast<double>(whole);
  return rest > 0.5 ? whole + 1 : rest < -0.5 ? whole - 1 : whole;
}

[[nodiscard]] constexpr double pow2_64(std::int64_t n) noexcept {
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

}  // namespace detail

/// e^x within 2 ulp; overflow gives infinity, and below e^-708 the answer is 0.
[[nodiscard]] constexpr double exp64(double x) noexcept {
  if (x != x) return x;
  if (x > 709.7)
    return x > 709.782712893384 ? std::bit_cast<double>(0x7ff0000000000000u) : exp64(x - 1.0) * 0x1.5bf0a8b145769p+1;
  if (x < -708.0) return 0.0;
  const std::int64_t n = detail::nearest_whole(x * 0x1.71547652b82fep+0);
  const auto whole = static_cast<double>(n);
  double r = __builtin_fma(whole, -0x1.62e42fefa39efp-1, x);
  r = __builtin_fma(whole, -0x1.abc9e3b39803fp-56, r);
  double p = detail::kInverseFactorials[14];
  for (std::size_t k = 14; k-- > 0;) p = __builtin_fma(p, r, detail::kInverseFactorials[k]);
  const std::int64_t half = n / 2;
  return p * detail::pow2_64(half) * detail::pow2_64(n - half);
}

/// The natural logarithm within 2 ulp, 4 ulp near 1; denormals count as zero, which gives -infinity.
[[nodiscard]] constexpr double log64(double x) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  if (x != x || x < 0) return std::bit_cast<double>(0x7ff8000000000000u);
  if (bits == 0x7ff0000000000000u) return x;
  if (x < 0x1p-1022) return std::bit_cast<double>(0xfff0000000000000u);
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
  const auto exponent = static_cast<double>(k);
  return __builtin_fma(exponent, 0x1.62e42fefa39efp-1, __builtin_fma(exponent, 0x1.abc9e3b39803fp-56, fraction));
}

/// x^y for x > 0, as exp64(y * log64(x)): relative error below (2 + 2 |y log x|) 2^-52.
[[nodiscard]] constexpr double pow64(double x, double y) noexcept { return exp64(y * log64(x)); }

/// The sine and cosine of one angle in radians.
struct SinCos64 {
  double sin;
  double cos;
};

/// Sine and cosine for |x| <= 2^30, absolute error below 2^-52; NaN beyond.
[[nodiscard]] constexpr SinCos64 sincos64(double x) noexcept {
  if (!(x <= 0x1p30 && x >= -0x1p30)) {
    const double nan = std::bit_cast<double>(0x7ff8000000000000u);
    return {nan, nan};
  }
  const std::int64_t n = detail::nearest_whole(x * 0x1.45f306dc9c883p-1);
  const auto whole = static_cast<double>(n);
  double r = __builtin_fma(whole, -0x1.921fb54442d18p+0, x);
  r = __builtin_fma(whole, -0x1.1a62633145c07p-54, r);
  r = __builtin_fma(whole, 0x1.f1976b7ed8fbcp-110, r);
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

}  // namespace zrt::inline ZRT_ABI::math
ZRT_FP_END
