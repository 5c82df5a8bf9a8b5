// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/scalar_math.hpp: functions of one f64 beyond those of core, without libm.
#pragma once

#include <zrt/core/elementary64.hpp>

#include <array>
#include <limits>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::ir::onnx::scalar_math {

/// The nearest whole number, ties to even.
[[nodiscard]] constexpr double round_even(double x) noexcept {
  const double magnitude = math::sealed(x < 0 ? -x : x);
  if (!(magnitude < 0x1p52)) return x;
  const double whole = math::sealed(magnitude + 0x1p52) - 0x1p52;
  return std::bit_cast<std::int64_t>(x) < 0 ? -whole : whole;
}
/// The greatest whole number that is not above x.
[[nodiscard]] constexpr double floor(double x) noexcept {
  const double nearest = round_even(x);
  return nearest > x ? nearest - 1 : nearest;
}
/// A whole number as an integer; the ends of 2^62 for what lies beyond them, 0 for NaN.
[[nodiscard]] constexpr std::int64_t to_integer(double x) noexcept {
  if (x != x) return 0;
  return static_cast<std::int64_t>(x < -0x1p62 ? -0x1p62 : x > 0x1p62 ? 0x1p62 : x);
}
/// The remainder of a / b with the sign of a, exact; NaN for an infinite a or a zero b.
[[nodiscard]] constexpr double fmod(double a, double b) noexcept {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double rest = a < 0 ? -a : a;
  const double divisor = b < 0 ? -b : b;
  if (a != a || b != b || rest == kInfinity || divisor == 0) return std::numeric_limits<double>::quiet_NaN();
  if (divisor == kInfinity) return a;
  while (rest >= divisor) {
    // The largest power of two times the divisor that fits; both exponents come from the bits.
    double step = divisor;
    while (step <= rest / 2 && step * 2 <= rest) step *= 2;
    rest -= step;
  }
  return std::bit_cast<std::int64_t>(a) < 0 ? -rest : rest;
}

[[nodiscard]] constexpr double atan(double x) noexcept {
  constexpr double kQuarter = 0.78539816339744830962;
  if (x != x) return x;
  const bool negative = x < 0;
  double t = negative ? -x : x;
  double base = 0;
  double sign = 1;
  if (t > 1) {
    t = 1 / t;
    base = 2 * kQuarter;
    sign = -1;
  }
  double inner = 0;
  if (t > 0.41421356237309503) {
    t = (t - 1) / (t + 1);
    inner = kQuarter;
  }
  // The series of atan, |t| at most tan(pi / 8): the first term left out is below 2^-54.
  const double square = math::sealed(t * t);
  double sum = 0;
  for (int k = 22; k >= 0; --k) sum = __builtin_fma(sum, square, (k % 2 == 0 ? 1.0 : -1.0) / (2 * k + 1));
  const double angle = inner + math::sealed(sum * t);
  const double result = base + math::sealed(sign * angle);
  return negative ? -result : result;
}
[[nodiscard]] inline double asin(double x) noexcept {
  return atan(x / __builtin_sqrt(math::sealed((1 - x) * (1 + x))));
}
[[nodiscard]] inline double acos(double x) noexcept {
  if (x == -1) return 3.14159265358979323846;
  return 2 * atan(__builtin_sqrt((1 - x) / (1 + x)));
}
/// Half of exp(x) where exp(x) itself may be too large.
[[nodiscard]] constexpr double half_exp(double x) noexcept {
  const double root = math::exp64(x / 2);
  return root * (root / 2);
}
[[nodiscard]] constexpr double sinh(double x) noexcept {
  // Near zero the two exponentials cancel.
  if (x > -0.01 && x < 0.01) {
    const double square = math::sealed(x * x);
    return x * __builtin_fma(square, __builtin_fma(square, 1.0 / 120, 1.0 / 6), 1.0);
  }
  if (x > 709 || x < -709) return x < 0 ? -half_exp(-x) : half_exp(x);
  return (math::exp64(x) - math::exp64(-x)) / 2;
}
[[nodiscard]] constexpr double cosh(double x) noexcept {
  if (x > 709 || x < -709) return half_exp(x < 0 ? -x : x);
  return (math::exp64(x) + math::exp64(-x)) / 2;
}
/// log(1 + x) for x that may be small.
[[nodiscard]] constexpr double log1p(double x) noexcept {
  const double sum = math::sealed(1 + x);
  const double lost = math::sealed(sum - 1) - x;
  if (sum == 1 || !(sum < std::numeric_limits<double>::infinity())) return sum == 1 ? x : sum;
  if (sum == 0) return -std::numeric_limits<double>::infinity();
  return math::log64(sum) - lost / sum;
}
/// log(2 x) where 2 x itself may be too large.
[[nodiscard]] constexpr double log_twice(double x) noexcept { return math::log64(x) + 0.69314718055994530942; }
[[nodiscard]] inline double asinh(double x) noexcept {
  const double t = x < 0 ? -x : x;
  // From here on 1 is lost beside the square, which would overflow.
  if (t > 0x1p28) return x < 0 ? -log_twice(t) : log_twice(t);
  const double square = math::sealed(t * t);
  const double result = log1p(t + square / (1 + __builtin_sqrt(square + 1)));
  return x < 0 ? -result : result;
}
[[nodiscard]] inline double acosh(double x) noexcept {
  if (x < 1) return std::numeric_limits<double>::quiet_NaN();
  if (x > 0x1p28) return log_twice(x);
  const double t = x - 1;
  return log1p(t + __builtin_sqrt(math::sealed(t * (x + 1))));
}
[[nodiscard]] constexpr double atanh(double x) noexcept { return log1p(2 * x / (1 - x)) / 2; }

/// x to the power of y as IEEE 754's pow has it.
[[nodiscard]] constexpr double power(double x, double y) noexcept {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return std::numeric_limits<double>::quiet_NaN();
  const bool whole = round_even(y) == y;
  const bool odd = whole && (y < 0 ? -y : y) < 0x1p53 && static_cast<std::int64_t>(y) % 2 != 0;
  const double magnitude = x < 0 ? -x : x;
  if (x < 0 && !whole && magnitude < std::numeric_limits<double>::infinity())
    return std::numeric_limits<double>::quiet_NaN();
  double result = 1;
  const double times = y < 0 ? -y : y;
  if (magnitude == 0) {
    result = y < 0 ? std::numeric_limits<double>::infinity() : 0;
  } else if (whole && times <= 64) {
    for (int i = 0; i < static_cast<int>(times); ++i) result *= magnitude;
    if (y < 0) result = 1 / result;
  } else {
    result = math::pow64(magnitude, y);
  }
  return odd && std::bit_cast<std::int64_t>(x) < 0 ? -result : result;
}
/// The weight of a neighbour that is `away`, at least 0, under a cubic with the coefficient `a`.
[[nodiscard]] constexpr double cubic_weight(double away, double a) noexcept {
  if (away < 1) return __builtin_fma(__builtin_fma(a + 2, away, -(a + 3)), away * away, 1.0);
  if (away >= 2) return 0;
  return __builtin_fma(__builtin_fma(__builtin_fma(a, away, -5 * a), away, 8 * a), away, -4 * a);
}
/// The weights of the four neighbours of a place that is `t` past the second one: of a cubic with the coefficient `a`.
[[nodiscard]] constexpr std::array<double, 4> cubic_weights(double t, double a) noexcept {
  return {cubic_weight(1 + t, a), cubic_weight(t, a), cubic_weight(1 - t, a), cubic_weight(2 - t, a)};
}
/// x to the power of y modulo 2^64; a negative y gives 0 unless x is 1 or -1.
[[nodiscard]] constexpr std::int64_t power(std::int64_t x, std::int64_t y) noexcept {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 != 0 ? -1 : 1) : 0;
  std::uint64_t result = 1;
  std::uint64_t square = static_cast<std::uint64_t>(x);
  for (auto left = static_cast<std::uint64_t>(y); left != 0; left >>= 1, square *= square)
    if (left % 2 != 0) result *= square;
  return static_cast<std::int64_t>(result);
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::scalar_math
ZRT_FP_END
