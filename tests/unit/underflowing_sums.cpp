// SPDX-License-Identifier: Apache-2.0
// tests/unit/underflowing_sums.cpp: sums of products that underflow to -0 keep their sign, however long they are.
#include <zrt/backend/cpu/kernels/dot_product.hpp>
#include <zrt/quant/dot.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace underflowing_sums_test {
namespace {

using namespace zrt;

/// Rows times columns, with the depth of the columns contiguous or not.
void expect_signs(const cpu::DotKernels& kernels) {
  constexpr std::uint64_t kRows = 3, kCols = 5;
  for (std::uint64_t depth = 1; depth < 50; ++depth)
    for (const bool contiguous : {true, false}) {
      const std::vector<float> a(kRows * depth, 1e-30f), b(kCols * depth, -1e-30f);
      cpu::DotShape shape;
      shape.rows = kRows;
      shape.cols = kCols;
      shape.depth = shape.lhs_row = depth;
      shape.lhs_depth = 1;
      shape.rhs_col = contiguous ? depth : 1;
      shape.rhs_depth = contiguous ? 1 : kCols;
      std::vector<float> y(kRows * kCols, 1.0f);
      kernels.product(shape, a.data(), b.data(), y.data(), Worker{});
      const auto expected = std::bit_cast<std::uint32_t>(quant::dot16(a.data(), b.data(), depth));
      for (const float sum : y) EXPECT_EQ(std::bit_cast<std::uint32_t>(sum), expected) << depth << contiguous;
    }
  for (std::uint64_t depth = 1; depth < 50; ++depth) {
    const std::vector<double> a(depth, 1e-200), b(kCols * depth, -1e-200);
    std::vector<double> y(kCols, 1.0);
    kernels.f64(a.data(), b.data(), depth, kCols, depth, y.data());
    // The sums that no product reaches stay +0.
    for (const double sum : y) EXPECT_EQ(std::signbit(sum), depth >= 16) << depth;
  }
}

TEST(UnderflowingSums, HaveTheSignOfTheOrder) {
  [[maybe_unused]] const cpu::Isa here = cpu::detect_isa();
#if ZRT_HAS_V1
  expect_signs(cpu::v1::kDotKernels<float>);
#endif
#if ZRT_HAS_V3
  if (here >= cpu::Isa::v3) expect_signs(cpu::v3::kDotKernels<float>);
#endif
#if ZRT_HAS_V4
  if (here >= cpu::Isa::v4) expect_signs(cpu::v4::kDotKernels<float>);
#endif
}

}  // namespace
}  // namespace underflowing_sums_test
