// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernels_matmul.cpp: the matrix kernels of kernels/: of each token the references' bits.
#include <iostream>
#include <pm4/kernel_matrix.hpp>

namespace zrt::test {
namespace {

class MatmulKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, MatmulKernels, testing::Values("gfx1201", "gfx1100"),
                         [](const auto& target) { return std::string(target.param); });

constexpr DType kBlockTypes[] = {DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k};

KernelMachine::Counters run(const char* target, const KernelMatrix& w, const std::vector<float>& x,
                            const std::vector<float>& bias, std::vector<float>& y) {
  KernelMachine m(target, "matmul" + w.suffix());
  const Rounded rounded(x, w.act());
  const auto tokens = static_cast<std::uint32_t>(x.size() / w.cols);
  for (const std::vector<std::byte>& part : w.parts) m.input(part);
  m.input(rounded.q);
  m.input(rounded.d);
  bias.empty() ? m.absent() : static_cast<void>(m.input(bias));
  m.output(y);
  m.push(w.rows);
  m.push(w.cols);
  m.push(tokens);
  return m.run((w.rows + 63) / 64, (tokens + 63) / 64);
}

TEST_P(MatmulKernels, BlockTypesHaveTheReferencesBits) {
  std::mt19937 random(1);
  struct Case {
    std::uint32_t rows, tokens, blocks;
  };
  // Blocks of 32 leave a step unfilled, of 256 never.
  const Case cases[] = {{1, 1, 1}, {16, 16, 3}, {70, 5, 1}, {37, 67, 2}, {8, 33, 9}};
  for (const DType dtype : kBlockTypes)
    for (const Case& c : cases) {
      SCOPED_TRACE(testing::Message() << name(dtype) << " " << c.rows << " x " << c.blocks << " of " << c.tokens);
      const std::uint32_t blocks = info(dtype).block_elems == 256 ? (c.blocks + 2) / 3 : c.blocks;
      KernelMatrix w(random, dtype, c.rows, blocks * info(dtype).block_elems);
      // An infinity stays in its row.
      if (c.rows == 70) w.set_scale(64 * w.blocks, 0x7c00);
      const std::vector<float> x = reals(random, std::size_t{c.tokens} * w.cols, 5.0f),
                               bias = c.rows == 37 ? reals(random, c.rows) : std::vector<float>();
      std::vector<float> got(std::size_t{c.tokens} * c.rows);
      run(GetParam(), w, x, bias, got);
      expect_same(got, product_of(w, x, bias));
    }
}

TEST_P(MatmulKernels, OneReadOfTheWeightsServes64Tokens) {
  std::mt19937 random(2);
  for (const DType dtype : kBlockTypes) {
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
}  // namespace zrt::test
