// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernels_matmul.cpp: the matrix kernels of kernels/: of each token the references' bits.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <pm4/kernel_matrix.hpp>

namespace zrt::test::kernels_matmul_test {
namespace {

class MatmulKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, MatmulKernels, testing::Values("gfx1201", "gfx1100"),
                         [](const auto& target) { return std::string(target.param); });

KernelMachine::Counters run(const char* target, const KernelMatrix& w, const std::vector<float>& x,
                            const std::vector<float>& bias, std::vector<float>& y) {
  const auto tokens = static_cast<std::uint32_t>(x.size() / w.cols);
  return run_product(target, "matmul", w, x, bias, y, {tokens}, {(w.rows + 63) / 64, (tokens + 63) / 64});
}

TEST_P(MatmulKernels, EachTypeHasTheReferencesBits) {
  std::mt19937 random(1);
  struct Case {
    std::uint32_t rows, tokens, blocks;
  };
  // Blocks of 256 leave no step unfilled.
  const Case cases[] = {{1, 1, 1}, {16, 16, 3}, {70, 5, 1}, {37, 67, 2}, {8, 33, 9}};
  for (const auto& [dtype, parts, write] : pm4::kUploads)
    for (const Case& c : cases) {
      SCOPED_TRACE(testing::Message() << name(dtype) << " " << c.rows << " x " << c.blocks << ", " << c.tokens);
      const std::uint32_t elems = info(dtype).block_elems;
      const std::uint32_t cols = elems == 256 ? (c.blocks + 2) / 3 * 256 : elems == 32 ? c.blocks * 32 : c.blocks * 40;
      KernelMatrix w(random, dtype, c.rows, cols);
      // An infinity stays in its row.
      if (c.rows == 70 && elems != 1) w.set_scale(64 * w.blocks, 0x7c00);
      const std::vector<float> x = reals(random, std::size_t{c.tokens} * w.cols, 5.0f),
                               bias = c.rows == 37 ? reals(random, c.rows) : std::vector<float>();
      std::vector<float> got(std::size_t{c.tokens} * c.rows);
      run(GetParam(), w, x, bias, got);
      expect_same(got, product_of(w, x, bias));
    }
}

/// Activations of f32 as split_activation_f16 leaves them.
struct Split {
  std::vector<std::uint16_t> high, low;
  std::vector<float> scale;

  Split(const char* target, const std::vector<float>& x, std::uint32_t cols)
      : high(x.size(), 0xffff), low(x.size(), 0xffff), scale(x.size() / cols) {
    KernelMachine m(target, "split_activation_f16");
    m.input(x);
    m.output(high);
    m.output(low);
    m.output(scale);
    m.push(cols);
    m.run(static_cast<std::uint32_t>(scale.size()));
  }
};

TEST_P(MatmulKernels, ActivationsAreSplitWithAlmostAllTheirBits) {
  std::mt19937 random(3);
  constexpr std::uint32_t kCols = 264;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = reals(random, 6 * kCols, 1.0f);
  // Tokens of every size: the largest float, as small as they get, zeros, and those that have no scale.
  for (std::uint32_t i = 0; i < kCols; ++i) {
    x[kCols + i] *= 3e38f;
    x[2 * kCols + i] *= 1e-42f;
    x[3 * kCols + i] = 0.0f;
  }
  x[4 * kCols + 100] = -kInfinity;
  x[5 * kCols + 263] = std::numeric_limits<float>::quiet_NaN();
  const Split split(GetParam(), x, kCols);
  for (std::uint32_t t = 0; t < 4; ++t) {
    float largest = 0;
    for (std::uint32_t i = 0; i < kCols; ++i) largest = std::max(largest, std::fabs(x[t * kCols + i]));
    for (std::uint32_t i = t * kCols; i < (t + 1) * kCols; ++i) {
      const double sum = double{to_f32(Half{split.high[i]})} + to_f32(Half{split.low[i]});
      ASSERT_NEAR(sum * split.scale[t], x[i], std::max(std::fabs(x[i]) * 0x1p-22, largest * 0x1p-38)) << i;
      ASSERT_LE(std::fabs(sum), 0x1p15);
    }
  }
  EXPECT_NE(split.scale[4], split.scale[4]);
  EXPECT_NE(split.scale[5], split.scale[5]);
}

std::vector<float> run_relaxed(const char* target, const KernelMatrix& w, const std::vector<float>& x,
                               const std::vector<float>& bias) {
  const Split split(target, x, w.cols);
  const auto tokens = static_cast<std::uint32_t>(split.scale.size());
  std::vector<float> y(std::size_t{tokens} * w.rows);
  KernelMachine m(target, "matmul_relaxed_f16");
  m.input(w.parts[0]);
  m.input(split.high);
  m.input(split.low);
  m.input(split.scale);
  bias.empty() ? m.absent() : static_cast<void>(m.input(bias));
  m.output(y);
  m.push(w.rows);
  m.push(w.cols);
  m.push(tokens);
  m.run((w.rows + 63) / 64, (tokens + 63) / 64);
  return y;
}

TEST_P(MatmulKernels, RelaxedF16StaysWithinItsBoundAndATokenAlone) {
  std::mt19937 random(4);
  struct Case {
    std::uint32_t rows, tokens, cols;
  };
  for (const Case c : {Case{1, 1, 8}, {16, 16, 64}, {70, 5, 136}, {5, 67, 72}}) {
    SCOPED_TRACE(testing::Message() << c.rows << " x " << c.cols << " of " << c.tokens);
    const KernelMatrix w(random, DType::f16, c.rows, c.cols);
    std::vector<float> x = reals(random, std::size_t{c.tokens} * c.cols, 5.0f);
    for (std::uint32_t i = 0; i < c.cols; ++i) x[i] *= 1e4f;
    const std::vector<float> bias = c.rows == 5 ? reals(random, c.rows) : std::vector<float>();
    const std::vector<float> got = run_relaxed(GetParam(), w, x, bias);
    std::vector<float> row(c.cols);
    for (std::uint32_t r = 0; r < c.rows; ++r) {
      quant::find(DType::f16)->dequantise(w.weight().row(r), c.cols, row.data());
      for (std::uint32_t t = 0; t < c.tokens; ++t) {
        double sum = bias.empty() ? 0.0 : bias[r], magnitude = std::fabs(sum);
        for (std::uint32_t i = 0; i < c.cols; ++i) {
          const double product = double{row[i]} * x[t * c.cols + i];
          sum += product;
          magnitude += std::fabs(product);
        }
        ASSERT_NEAR(got[t * c.rows + r], sum, magnitude * (0x1p-22 + (2 * c.cols + 2) * 0x1p-24)) << t << ", " << r;
      }
    }
    // The last token alone has the bits that it has among the others.
    const std::vector<float> alone = run_relaxed(GetParam(), w, {x.end() - c.cols, x.end()}, bias);
    expect_same(alone, {got.end() - c.rows, got.end()});
  }
}

TEST_P(MatmulKernels, OneReadOfTheWeightsServes64Tokens) {
  std::mt19937 random(2);
  for (const auto& [dtype, parts, write] : pm4::kUploads) {
    const KernelMatrix w(random, dtype, 64, 512);
    std::vector<float> y(64 * 64);
    const KernelMachine::Counters c = run(GetParam(), w, reals(random, 64 * 512), {}, y);
    double read = 0;
    for (std::size_t region = 1; region <= w.parts.size(); ++region)
      read += static_cast<double>(c.regions[region].bytes_read);
    const double once = static_cast<double>(w.file.size());
    std::cout << "matmul" << w.suffix() << " " << GetParam() << ": " << read / once
              << " times the weights' bytes read, " << static_cast<double>(c.wave_instructions) / (64 * 512)
              << " wave instructions per weight for 64 tokens\n";
    // GFX11 has a row's bytes in both halves of a wave; on GFX12 both need a run's top pairs, and Q4_K's head.
    EXPECT_LE(read, (GetParam() == std::string("gfx1100") ? 2.0 : 1.31) * once) << name(dtype);
  }
}

}  // namespace
}  // namespace zrt::test::kernels_matmul_test
