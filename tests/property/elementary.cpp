// SPDX-License-Identifier: Apache-2.0
// tests/property/elementary.cpp: the stated error of every elementary function, over all exponents.
#include <zrt/core/elementary.hpp>
#include <zrt/core/elementary64.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace elementary_test {
namespace {

namespace math = zrt::math;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The distance in units of the last place that an f32 near `expected` has, denormals included. The
// oracle is the f64 function of the C library, whose own error is below 2^-28 of such a unit.
double ulps(float got, double expected) {
  if (std::isnan(expected)) return std::isnan(got) ? 0.0 : 1e9;
  if (std::isnan(got)) return 1e9;
  const auto nearest = static_cast<float>(expected);
  if (std::isinf(nearest) || std::isinf(got)) return got == nearest ? 0.0 : 1e9;
  int exponent = -149;
  if (expected != 0) {
    std::frexp(expected, &exponent);
    exponent = std::max(exponent - 24, -149);
  }
  return std::abs(static_cast<double>(got) - expected) / std::ldexp(1.0, exponent);
}

struct Worst {
  double error = 0;
  float at = 0;
};

// A prime step through all bit patterns, so that every exponent is met some 2000 times per sign.
template <class F, class R> Worst scan(F function, R reference, float low, float high) {
  Worst worst;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4093) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (x < low || x > high) continue;
    const double error = ulps(function(x), reference(static_cast<double>(x)));
    if (error > worst.error) worst = {error, x};
  }
  return worst;
}

#define ZRT_EXPECT_WITHIN(bound, low, high, function, reference)                                               \
  do {                                                                                                         \
    const Worst worst = scan([](float x) { return function; }, [](double x) { return reference; }, low, high); \
    EXPECT_LE(worst.error, bound) << #function << " at " << std::hexfloat << worst.at;                         \
  } while (false)

TEST(Elementary, StaysInsideItsStatedError) {
  ZRT_EXPECT_WITHIN(1.05, -kInfinity, kInfinity, math::exp(x), std::exp(x));
  ZRT_EXPECT_WITHIN(0.9, -kInfinity, kInfinity, math::log(x), std::log(x));
  ZRT_EXPECT_WITHIN(1.35, 0.0f, kInfinity, math::log1p(x), std::log1p(x));
  ZRT_EXPECT_WITHIN(1.9, -kInfinity, kInfinity, math::sin(x), std::sin(x));
  ZRT_EXPECT_WITHIN(1.9, -kInfinity, kInfinity, math::cos(x), std::cos(x));
  ZRT_EXPECT_WITHIN(1.35, -kInfinity, kInfinity, math::tanh(x), std::tanh(x));
  ZRT_EXPECT_WITHIN(1.8, -kInfinity, kInfinity, math::erf(x), std::erf(x));
  ZRT_EXPECT_WITHIN(2.5, -kInfinity, kInfinity, math::sigmoid(x), 1 / (1 + std::exp(-x)));
  ZRT_EXPECT_WITHIN(3.2, -87.0f, 1e38f, math::silu(x), x / (1 + std::exp(-x)));
  ZRT_EXPECT_WITHIN(2.0, -kInfinity, kInfinity, math::softplus(x),
                    x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)));
}

// The factor 1 + erf and 1 + tanh cancels for negative x, so their error is told against |x|.
TEST(Elementary, GeluStaysInsideItsStatedError) {
  for (float x = -12.0f; x < 12.0f; x += 0x1p-12f) {
    const auto wide = static_cast<double>(x);
    const double bound = 2.5 * 0x1p-24 * std::abs(wide);
    EXPECT_NEAR(static_cast<double>(math::gelu(x)), 0.5 * wide * (1 + std::erf(wide * std::sqrt(0.5))), bound);
    const double inner = 0.79788456080286536 * (wide + 0.044715 * wide * wide * wide);
    EXPECT_NEAR(static_cast<double>(math::gelu_tanh(x)), 0.5 * wide * (1 + std::tanh(inner)), bound);
  }
}

TEST(Elementary, DenseAroundTheSeams) {
  for (const float seam : {0.625f, 0.925f, 1.0f, 0.70710678f, 1.41421356f, 0.34657359f, 0.78539816f, 3.92f, 88.72f,
                           87.34f, 103.97f, 0x1p20f}) {
    auto bits = std::bit_cast<std::uint32_t>(seam) - 2000;
    for (int i = 0; i < 4000; ++i, ++bits) {
      for (const float x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
        const auto wide = static_cast<double>(x);
        EXPECT_LE(ulps(math::exp(x), std::exp(wide)), 1.05) << x;
        EXPECT_LE(ulps(math::sin(x), std::sin(wide)), 1.9) << x;
        EXPECT_LE(ulps(math::cos(x), std::cos(wide)), 1.9) << x;
        EXPECT_LE(ulps(math::tanh(x), std::tanh(wide)), 1.35) << x;
        EXPECT_LE(ulps(math::erf(x), std::erf(wide)), 1.8) << x;
        if (x > 0) {
          EXPECT_LE(ulps(math::log(x), std::log(wide)), 0.9) << x;
        }
      }
    }
  }
}

TEST(Elementary, PowStaysInsideItsStatedError) {
  std::mt19937_64 random(1);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int i = 0; i < 400000; ++i) {
    auto x = static_cast<float>(std::exp(unit() * 176 - 88));
    if (i % 2 == 1) x = 1.0f + static_cast<float>(unit() - 0.5) * 0.9f;
    const double reach = 150 / (std::abs(std::log2(static_cast<double>(x))) + 1e-9);
    const auto y = static_cast<float>((2 * unit() - 1) * reach);
    EXPECT_LE(ulps(math::pow(x, y), std::pow(static_cast<double>(x), static_cast<double>(y))), 1.0)
        << std::hexfloat << x << ", " << y;
  }
}

TEST(Elementary, PowKeepsTheSpecialCasesOfTheStandard) {
  const float special[] = {0.0f,    -0.0f,    1.0f,        -1.0f,       2.0f,        -2.0f,     3.0f,      -3.0f,
                           0.5f,    -0.5f,    2.5f,        kInfinity,   -kInfinity,  kNan,      0x1p-149f, -0x1p-149f,
                           3.4e38f, -3.4e38f, 16777215.0f, 16777216.0f, 33554430.0f, 0x1p-126f, -7.0f,     1e-30f};
  for (const float x : special) {
    for (const float y : special) {
      const double expected = std::pow(static_cast<double>(x), static_cast<double>(y));
      const float got = math::pow(x, y);
      EXPECT_LE(ulps(got, expected), 1.0) << x << ", " << y;
      if (!std::isnan(expected)) {
        EXPECT_EQ(std::signbit(got), std::signbit(expected)) << x << ", " << y;
      }
    }
  }
}

TEST(Elementary, ExactValues) {
  EXPECT_EQ(math::exp(0.0f), 1.0f);
  EXPECT_EQ(math::exp(-0.0f), 1.0f);
  EXPECT_EQ(math::exp(-kInfinity), 0.0f);
  EXPECT_EQ(math::exp(kInfinity), kInfinity);
  EXPECT_EQ(math::exp(-1e30f), 0.0f);
  EXPECT_EQ(math::exp(-103.5f), 0x1p-149f);
  EXPECT_EQ(math::log(0.0f), -kInfinity);
  EXPECT_EQ(math::log(-0.0f), -kInfinity);
  EXPECT_EQ(math::log(1.0f), 0.0f);
  EXPECT_TRUE(std::isnan(math::log(-1.0f)));
  EXPECT_TRUE(std::signbit(math::sin(-0.0f)) && std::signbit(math::tanh(-0.0f)) && std::signbit(math::erf(-0.0f)));
  EXPECT_EQ(math::cos(0.0f), 1.0f);
  EXPECT_TRUE(std::isnan(math::sin(kInfinity)) && std::isnan(math::cos(-kInfinity)));
  EXPECT_EQ(math::tanh(kInfinity), 1.0f);
  EXPECT_EQ(math::erf(-kInfinity), -1.0f);
  EXPECT_EQ(math::sigmoid(-kInfinity), 0.0f);
  EXPECT_EQ(math::sigmoid(0.0f), 0.5f);
  EXPECT_EQ(math::relu2(-3.0f), 0.0f);
  EXPECT_EQ(math::relu(-3.0f), 0.0f);
  EXPECT_EQ(math::relu(3.0f), 3.0f);
  EXPECT_EQ(math::relu2(3.0f), 9.0f);
  EXPECT_EQ(math::softplus(kInfinity), kInfinity);
  for (const float got : {math::exp(kNan), math::log(kNan), math::sin(kNan), math::tanh(kNan), math::erf(kNan),
                          math::sigmoid(kNan), math::silu(kNan), math::gelu(kNan), math::gelu_tanh(kNan),
                          math::relu2(kNan), math::relu(kNan), math::softplus(kNan)})
    EXPECT_TRUE(std::isnan(got));
}

TEST(Elementary64, IsGoodEnoughForTables) {
  std::mt19937_64 random(2);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int i = 0; i < 200000; ++i) {
    const double x = (2 * unit() - 1) * 700;
    EXPECT_NEAR(math::exp64(x) / std::exp(x), 1.0, 2 * 0x1p-52);
    EXPECT_NEAR(math::log64(std::exp(x)) / std::log(std::exp(x)), 1.0, 4 * 0x1p-52);
    const double angle = x * 1e6;
    EXPECT_NEAR(math::sin64(angle), std::sin(angle), 0x1p-52);
    EXPECT_NEAR(math::cos64(angle), std::cos(angle), 0x1p-52);
  }
  EXPECT_EQ(math::exp64(0.0), 1.0);
  EXPECT_EQ(math::exp64(-1000.0), 0.0);
  EXPECT_EQ(math::exp64(1000.0), std::numeric_limits<double>::infinity());
}

// The frequencies of rotary embeddings, base^(-2i/n), rounded to f32.
/// |got - expected| in units of the last place of the f64 nearest to `expected`.
double ulps64(double got, long double expected) {
  const auto nearest = static_cast<double>(expected);
  if (std::isinf(nearest) || got == nearest) return got == nearest ? 0.0 : std::numeric_limits<double>::infinity();
  const double unit = std::max(0x1p-1074, std::ldexp(1.0, std::ilogb(nearest) - 52));
  return static_cast<double>(std::abs(static_cast<long double>(got) - expected) / static_cast<long double>(unit));
}

// The oracle is the long double of the C library.
TEST(Elementary64, OfEveryArgument) {
  std::mt19937_64 random(3);
  double exp = 0, log = 0, tanh = 0, erf = 0, wave = 0;
  for (int i = 0; i < 200000; ++i) {
    const double share = static_cast<double>(random() >> 11) * 0x1p-53;
    const double x = std::ldexp(1.0 + share, static_cast<int>(random() % 64) - 58) * (random() % 2 == 0 ? 1.0 : -1.0);
    tanh = std::max(tanh, ulps64(math::tanh64(x), std::tanh(static_cast<long double>(x))));
    erf = std::max(erf, ulps64(math::erf64(x), std::erf(static_cast<long double>(x))));
    const double bounded = share * 1460.0 - 750.0;
    exp = std::max(exp, ulps64(math::exp64(bounded), std::exp(static_cast<long double>(bounded))));
    const double any = std::bit_cast<double>(random() >> 1);
    if (any - any != 0) continue;
    if (any < 0.5 || any > 2.0) log = std::max(log, ulps64(math::log64(any), std::log(static_cast<long double>(any))));
    // Beyond 2^63 the library's long double is no oracle.
    const double angle = std::ldexp(1.0 + share, static_cast<int>(random() % 62));
    const auto exact = static_cast<long double>(angle);
    wave = std::max(wave, static_cast<double>(std::abs(math::sin64(angle) - std::sin(exact))));
    wave = std::max(wave, static_cast<double>(std::abs(math::cos64(-angle) - std::cos(exact))));
    const double s = math::sin64(any), c = math::cos64(any);
    ASSERT_NEAR(s * s + c * c, 1.0, 0x1p-50) << std::hexfloat << any;
  }
  EXPECT_LE(exp, 2.0);
  EXPECT_LE(log, 2.0);
  EXPECT_LE(tanh, 4.0);
  EXPECT_LE(erf, 5.0);
  EXPECT_LE(wave, 0x1p-52);
  // Known to 60 digits: sin(10^22) and the hardest f64 to reduce.
  EXPECT_NEAR(math::sin64(1e22), -0.8522008497671888, 0x1p-53);
  EXPECT_NEAR(math::cos64(0x1.6ac5b262ca1ffp+849) / -4.687165924254627611122582801963884e-19, 1.0, 0x1p-52);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(math::sin64(infinity)) && std::isnan(math::cos64(-infinity)) && std::isnan(math::log64(-1.0)));
  EXPECT_EQ(math::exp64(-infinity), 0.0);
  EXPECT_EQ(math::log64(0.0), -infinity);
  EXPECT_EQ(math::log64(infinity), infinity);
  EXPECT_EQ(math::tanh64(-infinity), -1.0);
  EXPECT_EQ(math::erf64(infinity), 1.0);
  EXPECT_TRUE(std::signbit(math::sin64(-0.0)) && std::signbit(math::tanh64(-0.0)) && std::signbit(math::erf64(-0.0)));
}

TEST(Elementary64, RopeFrequenciesAreWithinOneUlp) {
  for (const double base : {1e4, 5e5, 1e6, 1e7, 1e8})
    for (const int n : {64, 96, 128, 256, 512})
      for (int i = 0; i < n / 2; ++i) {
        const double exponent = -2.0 * i / n;
        EXPECT_LE(ulps(static_cast<float>(math::pow64(base, exponent)), std::pow(base, exponent)), 0.51);
      }
}

}  // namespace
}  // namespace elementary_test
