// SPDX-License-Identifier: Apache-2.0
// tests/unit/compare_case.cpp: what a self-test lets a kernel of a canonical and of a relaxed device leave.
// covers: device/selftest/compare_case.hpp
// test-set: full
#include <zrt/device/selftest/compare_case.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace zrt::test {
namespace {

template <class T>
std::optional<std::size_t> wrong(const std::vector<T>& want, const std::vector<T>& found, DType dtype, float bound) {
  const device::CaseBuffer buffer{{}, as_bytes(Span<const T>(want)), dtype};
  return device::first_wrong(buffer, as_bytes(Span<const T>(found)), bound);
}

TEST(CompareCase, WithoutABoundEveryBitCounts) {
  const std::vector<float> want{1.0f, 2.0f}, near{1.0f, 0x1.000002p1f};
  EXPECT_FALSE(wrong(want, want, DType::f32, 0.0f));
  EXPECT_EQ(wrong(want, near, DType::f32, 0.0f), 4u) << "the byte";
  EXPECT_TRUE(wrong<float>({0.0f}, {-0.0f}, DType::f32, 0.0f));
}

TEST(CompareCase, FloatsMayBeOffByTheBoundOfTheLargest) {
  const std::vector<float> want{-100.0f, 0.5f};
  EXPECT_FALSE(wrong<float>(want, {-100.09f, 0.41f}, DType::f32, 1e-3f));
  EXPECT_EQ(wrong<float>(want, {-100.2f, 0.5f}, DType::f32, 1e-3f), 0u);
  EXPECT_EQ(wrong<float>(want, {-100.0f, 0.7f}, DType::f32, 1e-3f), 1u) << "the element";
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(wrong<float>({nan, inf, 1.0f}, {-nan, inf, 1.0f}, DType::f32, 1e-3f));
  EXPECT_EQ(wrong<float>({1.0f, 1.0f}, {nan, 1.0f}, DType::f32, 1e-3f), 0u);
  EXPECT_EQ(wrong<float>({1.0f, nan}, {1.0f, 1.0f}, DType::f32, 1e-3f), 1u);
  EXPECT_EQ(wrong<float>({1.0f}, {inf}, DType::f32, 1e-3f), 0u);
}

TEST(CompareCase, RoundedFloatsMayBeOnTheOtherSideOfATie) {
  const std::uint16_t one = to_f16(1.0f).bits, big = to_bf16(1.0f).bits;
  EXPECT_FALSE(wrong<std::uint16_t>({one}, {static_cast<std::uint16_t>(one + 1)}, DType::f16, 1e-3f));
  EXPECT_TRUE(wrong<std::uint16_t>({one}, {static_cast<std::uint16_t>(one + 4)}, DType::f16, 1e-3f));
  EXPECT_FALSE(wrong<std::uint16_t>({big}, {static_cast<std::uint16_t>(big + 1)}, DType::bf16, 1e-3f));
  EXPECT_TRUE(wrong<std::uint16_t>({big}, {static_cast<std::uint16_t>(big + 3)}, DType::bf16, 1e-3f));
}

TEST(CompareCase, SignedBytesMayBeOffByOneAndOtherNumbersNotAtAll) {
  EXPECT_FALSE(wrong<std::int8_t>({127, -3}, {126, -4}, DType::si8, 1e-3f));
  EXPECT_EQ(wrong<std::int8_t>({127, -3}, {127, -5}, DType::si8, 1e-3f), 1u);
  EXPECT_TRUE(wrong<std::uint32_t>({7}, {8}, DType::ui8, 1e-3f));
}

}  // namespace
}  // namespace zrt::test
