// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernels_matvec.cpp: the matrix-vector kernels of kernels/: the references' bits, each weight byte read once.
#include <zrt/quant/activation.hpp>
#include <zrt/quant/dot.hpp>
#include <zrt/quant/plain.hpp>
#include <zrt/quant/q8_0.hpp>

#include <iostream>
#include <limits>
#include <pm4/kernel_machine.hpp>

namespace zrt::test {
namespace {

using Q8 = quant::Layout<DType::q8_0>;

class MatvecKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, MatvecKernels, testing::Values("gfx1201", "gfx1100"),
                         [](const auto& target) { return std::string(target.param); });

/// A matrix of Q8_0 as files have it, and in the kernel's two parts.
struct Q8Matrix {
  std::vector<std::byte> blocks;
  std::vector<std::int8_t> q;
  std::vector<std::uint16_t> d;

  Q8Matrix(std::mt19937& random, std::size_t rows, std::size_t cols)
      : blocks(rows * cols / 32 * Q8::kBytes), q(rows * cols), d(rows * cols / 32) {
    for (std::int8_t& value : q) value = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
    for (std::size_t b = 0; b < d.size(); ++b) {
      d[b] = to_f16(static_cast<float>(random() % 1000) * 1e-4f - 0.03f).bits;
      std::memcpy(&blocks[b * Q8::kBytes], &d[b], 2);
      std::memcpy(&blocks[b * Q8::kBytes + 2], &q[b * 32], 32);
    }
  }
};

struct Rounded {
  std::vector<std::int8_t> q;
  std::vector<float> d;

  explicit Rounded(const std::vector<float>& x) : q(x.size()), d(x.size() / 32) {
    quant::round_activation(x.data(), x.size(), 32, q.data(), d.data());
  }
};

KernelMachine::Counters run_q8(const char* target, const Q8Matrix& w, const Rounded& x, const std::vector<float>& bias,
                               std::vector<float>& y, std::uint32_t rows, std::uint32_t cols) {
  KernelMachine m(target, "matvec_q8_0");
  m.input(w.q);
  m.input(w.d);
  m.input(x.q);
  m.input(x.d);
  bias.empty() ? m.absent() : static_cast<void>(m.input(bias));
  m.output(y);
  m.push(rows);
  m.push(cols);
  return m.run((rows + 7) / 8, static_cast<std::uint32_t>(x.q.size() / cols));
}

KernelMachine::Counters run_f16(const char* target, const std::vector<std::uint16_t>& w, const std::vector<float>& x,
                                const std::vector<float>& bias, std::vector<float>& y, std::uint32_t rows,
                                std::uint32_t cols) {
  KernelMachine m(target, "matvec_f16");
  m.input(w);
  m.input(x);
  bias.empty() ? m.absent() : static_cast<void>(m.input(bias));
  m.output(y);
  m.push(rows);
  m.push(cols);
  return m.run((rows + 15) / 16, static_cast<std::uint32_t>(x.size() / cols));
}

TEST_P(MatvecKernels, ActivationsAreRoundedAsTheReferenceRounds) {
  std::mt19937 random(1);
  for (const std::uint32_t groups : {1u, 8u, 19u}) {
    std::vector<float> x = reals(random, groups * 32, 3.0f);
    const float specials[] = {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 0.0f,
                              1e-38f};
    if (groups > 8)
      for (std::size_t g = 0; g < 4; ++g) {
        if (g >= 2) std::fill_n(&x[(g + 3) * 32], 32, 0.0f);
        x[(g + 3) * 32 + 7 * g] = specials[g];
      }
    const Rounded want(x);
    std::vector<std::int8_t> q(x.size(), 99);
    std::vector<float> d(groups, -1.0f);
    KernelMachine m(GetParam(), "round_activation_q8_32");
    m.input(x);
    m.output(q);
    m.output(d);
    m.push(groups);
    m.run((groups + 7) / 8);
    EXPECT_EQ(q, want.q);
    expect_same(d, want.d);
  }
}

TEST_P(MatvecKernels, MatvecQ8_0HasTheReferencesBits) {
  std::mt19937 random(2);
  for (const std::uint32_t rows : {1u, 8u, 19u})
    for (const std::uint32_t cols : {32u, 96u, 544u, 1024u, 2080u}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
      const std::size_t tokens = rows == 8 ? 3 : 1;
      const Q8Matrix w(random, rows, cols);
      const Rounded x(reals(random, tokens * cols, 5.0f));
      const std::vector<float> bias = rows == 19 ? reals(random, rows) : std::vector<float>();
      std::vector<float> got(tokens * rows), want;
      for (std::size_t t = 0; t < tokens; ++t)
        for (std::size_t r = 0; r < rows; ++r) {
          const float y =
              quant::dot_blocks<Q8>(&w.blocks[r * cols / 32 * Q8::kBytes], &x.q[t * cols], &x.d[t * cols / 32], cols);
          want.push_back(bias.empty() ? y : y + bias[r]);
        }
      run_q8(GetParam(), w, x, bias, got, rows, cols);
      expect_same(got, want);
    }
}

/// A scale that is not finite makes its own row alone not finite, also where lanes beyond a short row load it again.
TEST_P(MatvecKernels, MatvecQ8_0KeepsInfinities) {
  std::mt19937 random(3);
  Q8Matrix w(random, 8, 32);
  w.d[3] = 0x7c00;
  std::memcpy(&w.blocks[3 * Q8::kBytes], &w.d[3], 2);
  const Rounded x(reals(random, 32));
  std::vector<float> got(8), want;
  for (std::size_t r = 0; r < 8; ++r)
    want.push_back(quant::dot_blocks<Q8>(&w.blocks[r * Q8::kBytes], x.q.data(), x.d.data(), 32));
  ASSERT_TRUE(std::isinf(want[3]));
  run_q8(GetParam(), w, x, {}, got, 8, 32);
  expect_same(got, want);
}

TEST_P(MatvecKernels, MatvecF16HasTheReferencesBits) {
  std::mt19937 random(4);
  for (const std::uint32_t rows : {1u, 16u, 35u})
    for (const std::uint32_t cols : {8u, 40u, 256u, 520u}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
      const std::size_t tokens = rows == 16 ? 3 : 1;
      const std::vector<float> values = reals(random, std::size_t{rows} * cols), x = reals(random, tokens * cols, 5.0f);
      std::vector<std::uint16_t> w;
      std::vector<float> widened;
      for (const float v : values) {
        w.push_back(to_f16(v).bits);
        widened.push_back(to_f32(Half{w.back()}));
      }
      const std::vector<float> bias = rows == 35 ? reals(random, rows) : std::vector<float>();
      std::vector<float> got(tokens * rows), want;
      for (std::size_t t = 0; t < tokens; ++t)
        for (std::size_t r = 0; r < rows; ++r) {
          const float y = quant::dot16(&widened[r * cols], &x[t * cols], cols);
          want.push_back(bias.empty() ? y : y + bias[r]);
        }
      run_f16(GetParam(), w, x, bias, got, rows, cols);
      expect_same(got, want);
    }
}

/// What decides the speed on a card: bytes read, how they lie, and instructions issued.
void expect_cost(const char* what, const char* target, const KernelMachine::Counters& c, double weights, double bytes,
                 std::initializer_list<std::uint32_t> regions) {
  double read = 0;
  for (const std::uint32_t region : regions) {
    read += static_cast<double>(c.regions[region].bytes_read);
    EXPECT_GE(c.regions[region].contiguous_bytes(), 64u) << what << " buffer " << region - 1;
  }
  const double per_weight = static_cast<double>(c.wave_instructions) / weights;
  std::cout << what << " " << target << ": " << read / bytes << " times the weights' bytes read, " << per_weight
            << " wave instructions per weight\n";
  EXPECT_LE(read, 1.03 * bytes);
  EXPECT_LE(per_weight, 0.08);
}

TEST_P(MatvecKernels, MatvecReadsEachWeightByteOnce) {
  std::mt19937 random(5);
  constexpr std::uint32_t kRows = 64, kCols = 2048, kWeights = kRows * kCols;
  std::vector<float> y(kRows);
  const std::vector<float> x = reals(random, kCols);
  expect_cost("matvec_q8_0", GetParam(),
              run_q8(GetParam(), Q8Matrix(random, kRows, kCols), Rounded(x), {}, y, kRows, kCols), kWeights,
              kWeights / 32 * 34, {1, 2});
  const std::vector<std::uint16_t> w(kWeights, 0x3c00);
  expect_cost("matvec_f16", GetParam(), run_f16(GetParam(), w, x, {}, y, kRows, kCols), kWeights, kWeights * 2, {1});
}

}  // namespace
}  // namespace zrt::test
