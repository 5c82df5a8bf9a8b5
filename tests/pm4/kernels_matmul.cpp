// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernels_matmul.cpp: the matrix kernels of kernels/: of each token the references' bits.
#include <iostream>
#include <limits>
#include <pm4/kernel_matrix.hpp>

namespace zrt::test::kernels_matmul_test {
namespace {

class MatmulKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, MatmulKernels, testing::Values("gfx1201", "gfx1100", "gfx1151"),
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
  for (const auto& [dtype, parts, write] : device::kUploads)
    for (const Case& c : cases) {
      SCOPED_TRACE(testing::Message() << name(dtype) << " " << c.rows << " x " << c.blocks << ", " << c.tokens);
      const std::uint32_t elems = info(dtype).block_elems;
      const std::uint32_t cols = elems == 256 ? (c.blocks + 2) / 3 * 256 : elems == 32 ? c.blocks * 32 : c.blocks * 40;
      KernelMatrix w(random, dtype, c.rows, cols);
      // An infinity stays in its row; MXFP4 has none.
      if (c.rows == 70 && elems != 1 && dtype != DType::mxfp4)
        w.set_scale(64 * w.blocks, std::numeric_limits<float>::infinity());
      const std::vector<float> x = reals(random, std::size_t{c.tokens} * w.cols, 5.0f),
                               bias = c.rows == 37 ? reals(random, c.rows) : std::vector<float>();
      std::vector<float> got(std::size_t{c.tokens} * c.rows);
      run(GetParam(), w, x, bias, got);
      expect_same(got, product_of(w, x, bias));
    }
}

TEST_P(MatmulKernels, OneReadOfTheWeightsServes64Tokens) {
  std::mt19937 random(2);
  for (const auto& [dtype, parts, write] : device::kUploads) {
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
    // Both halves of a wave need a run's top bits, and each scale's word of a K type.
    const double most = dtype == DType::q6_k || dtype == DType::q5_k ? 1.31 : dtype == DType::q4_k ? 1.12 : 1.03;
    EXPECT_LE(read, most * once) << name(dtype);
  }
}

}  // namespace
}  // namespace zrt::test::kernels_matmul_test
