// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernels_matvec.cpp: the matrix-vector kernels of kernels/: the references' bits, each weight byte read once.
#include <zrt/quant/activation.hpp>
#include <zrt/quant/dot.hpp>
#include <zrt/quant/plain.hpp>
#include <zrt/quant/q4_0.hpp>
#include <zrt/quant/q8_0.hpp>

#include <iostream>
#include <limits>
#include <pm4/kernel_machine.hpp>

namespace zrt::test {
namespace {

class MatvecKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, MatvecKernels, testing::Values("gfx1201", "gfx1100"),
                         [](const auto& target) { return std::string(target.param); });

/// A matrix of blocks of a scale and bytes as files have it, and in the kernels' two parts.
template <class Layout> struct Blocks {
  static constexpr std::size_t kBytes = Layout::kBytes - 2;
  std::vector<std::byte> blocks;
  std::vector<std::uint8_t> q;
  std::vector<std::uint16_t> d;

  Blocks(std::mt19937& random, std::size_t rows, std::size_t cols)
      : blocks(rows * cols / 32 * Layout::kBytes), q(rows * cols / 32 * kBytes), d(rows * cols / 32) {
    for (std::uint8_t& value : q) value = static_cast<std::uint8_t>(random());
    for (std::size_t b = 0; b < d.size(); ++b) {
      set_scale(b, to_f16(static_cast<float>(random() % 1000) * 1e-4f - 0.03f).bits);
      std::memcpy(&blocks[b * Layout::kBytes + 2], &q[b * kBytes], kBytes);
    }
  }
  void set_scale(std::size_t block, std::uint16_t bits) {
    d[block] = bits;
    std::memcpy(&blocks[block * Layout::kBytes], &bits, 2);
  }
  [[nodiscard]] const std::byte* row(std::size_t r, std::size_t cols) const {
    return &blocks[r * cols / 32 * Layout::kBytes];
  }
  [[nodiscard]] static std::string kernel() { return "matvec_" + std::string(name(Layout::kDType)); }
};
using Q8 = quant::Layout<DType::q8_0>;
using Q4 = quant::Layout<DType::q4_0>;

struct Rounded {
  std::vector<std::int8_t> q;
  std::vector<float> d;

  explicit Rounded(const std::vector<float>& x) : q(x.size()), d(x.size() / 32) {
    quant::round_activation(x.data(), x.size(), 32, q.data(), d.data());
  }
};

template <class Layout>
KernelMachine::Counters run_blocks(const char* target, const Blocks<Layout>& w, const Rounded& x,
                                   const std::vector<float>& bias, std::vector<float>& y, std::uint32_t rows,
                                   std::uint32_t cols) {
  KernelMachine m(target, w.kernel());
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

template <class Layout> void expect_the_references_bits(const char* target) {
  std::mt19937 random(2);
  for (const std::uint32_t rows : {1u, 8u, 19u})
    for (const std::uint32_t cols : {32u, 96u, 544u, 1024u, 2080u}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
      const std::size_t tokens = rows == 8 ? 3 : 1;
      Blocks<Layout> w(random, rows, cols);
      // An infinity stays in its row, also where lanes behind a short one load it again.
      if (rows == 8) w.set_scale(3 * cols / 32, 0x7c00);
      const Rounded x(reals(random, tokens * cols, 5.0f));
      const std::vector<float> bias = rows == 19 ? reals(random, rows) : std::vector<float>();
      std::vector<float> got(tokens * rows), want;
      for (std::size_t t = 0; t < tokens; ++t)
        for (std::size_t r = 0; r < rows; ++r) {
          const float y = quant::dot_blocks<Layout>(w.row(r, cols), &x.q[t * cols], &x.d[t * cols / 32], cols);
          want.push_back(bias.empty() ? y : y + bias[r]);
        }
      run_blocks(target, w, x, bias, got, rows, cols);
      expect_same(got, want);
    }
}
TEST_P(MatvecKernels, MatvecQ8_0HasTheReferencesBits) { expect_the_references_bits<Q8>(GetParam()); }
TEST_P(MatvecKernels, MatvecQ4_0HasTheReferencesBits) { expect_the_references_bits<Q4>(GetParam()); }

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
              run_blocks(GetParam(), Blocks<Q8>(random, kRows, kCols), Rounded(x), {}, y, kRows, kCols), kWeights,
              kWeights / 32 * Q8::kBytes, {1, 2});
  expect_cost("matvec_q4_0", GetParam(),
              run_blocks(GetParam(), Blocks<Q4>(random, kRows, kCols), Rounded(x), {}, y, kRows, kCols), kWeights,
              kWeights / 32 * Q4::kBytes, {1, 2});
  const std::vector<std::uint16_t> w(kWeights, 0x3c00);
  expect_cost("matvec_f16", GetParam(), run_f16(GetParam(), w, x, {}, y, kRows, kCols), kWeights, kWeights * 2, {1});
}

}  // namespace
}  // namespace zrt::test
