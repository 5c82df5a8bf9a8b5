// SPDX-License-Identifier: Apache-2.0
// tests/unit/agreement.cpp: what comparisons of tensors accept, and which runs of a model count as right.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <onnx/node_case.hpp>
#include <support/agreement.hpp>

namespace agreement_test {
namespace {

using namespace zrt;
using namespace zrt::test;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Tolerance kTolerance{.relative = 0.5, .absolute = 1};

TEST(Agreement, OfFiniteNumbersIsWithinTheTolerance) {
  EXPECT_TRUE(agrees(2, 4, kTolerance));
  EXPECT_FALSE(agrees(2, 4.5, kTolerance));
  EXPECT_TRUE(agrees(-2, -4, kTolerance));
  EXPECT_TRUE(agrees(0.0, -0.0, {}));
  EXPECT_FALSE(agrees(1e308, -1e308, kTolerance));
}

TEST(Agreement, OfAnInfinityIsTheSameInfinityAndOfANanANan) {
  for (const double x : {kInfinity, -kInfinity, kNan}) {
    EXPECT_TRUE(agrees(x, x, kTolerance)) << x;
    EXPECT_EQ(distance(x, x), 0) << x;
    for (const double y : {0.0, 5.0, kInfinity, -kInfinity, kNan}) {
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      EXPECT_FALSE(agrees(x, y, kTolerance)) << x << " met by " << y;
      EXPECT_FALSE(agrees(y, x, kTolerance)) << y << " met by " << x;
      EXPECT_EQ(distance(x, y), kInfinity);
    }
  }
}

template <class T, std::size_t N>
std::string differs(DType dtype, const std::array<T, N>& wanted, const std::array<T, N>& got, double& worst) {
  return difference({dtype, Shape{N}}, std::as_bytes(std::span(wanted)), std::as_bytes(std::span(got)), kTolerance,
                    worst);
}

TEST(Agreement, OfTensorsKeepsTheLargestDistance) {
  double worst = 0;
  EXPECT_EQ((differs<double, 3>(DType::f64, {1, 2, kInfinity}, {1.5, 2.25, kInfinity}, worst)), "");
  EXPECT_EQ(worst, 0.5);
  // What comes after a NaN does not make it good.
  EXPECT_EQ((differs<double, 3>(DType::f64, {1, 2, 3}, {kNan, 8, 3.25}, worst)).substr(0, 12), "element 0 is");
  EXPECT_EQ(worst, kInfinity);
  worst = 0;
  EXPECT_EQ((differs<std::int32_t, 2>(DType::si32, {1, 2}, {1, 2}, worst)), "");
  EXPECT_EQ(worst, 0);
  EXPECT_EQ((differs<std::int32_t, 2>(DType::si32, {1, 2}, {1, 3}, worst)), "element 1 differs");
  EXPECT_EQ(worst, kInfinity);
}

TEST(Agreement, OfAModelIsThatOfARunThatGaveSomething) {
  EXPECT_TRUE((Outcome{Outcome::pass, "", {}, 1e-5}).is_within(1e-4));
  EXPECT_TRUE((Outcome{Outcome::wrong, "", {}, 1e-5}).is_within(1e-4));  // beyond another tolerance
  EXPECT_FALSE((Outcome{Outcome::wrong, "", {}, 1e-3}).is_within(1e-4));
  EXPECT_FALSE((Outcome{Outcome::wrong, "", {}, kInfinity}).is_within(1e-4));
  for (const auto kind : {Outcome::unsupported, Outcome::lacking, Outcome::failed, Outcome::wrong})
    EXPECT_FALSE((Outcome{kind, "", {}, 0}).is_within(1e-4)) << kind;
}

}  // namespace
}  // namespace agreement_test
