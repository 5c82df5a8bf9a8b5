// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernels_matmul.cpp: the matrix kernels of kernels/: of each token the references' bits.
#include <iostream>
#include <limits>
#include <pm4/kernel_machine.hpp>
#include <support/kernel_checks/products.hpp>

namespace zrt::test::kernels_matmul_test {
namespace {

using namespace kernel_checks;

class MatmulKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, MatmulKernels, testing::Values("gfx1201", "gfx1100", "gfx1151"),
                         [](const auto& target) { return std::string(target.param); });

TEST_P(MatmulKernels, EachTypeHasTheReferencesBits) { check_matmul(Target{GetParam()}); }

TEST_P(MatmulKernels, OneReadOfTheWeightsServes64Tokens) {
  std::mt19937 random(2);
  for (const auto& [dtype, parts, write] : device::kUploads) {
    const KernelMatrix w(random, dtype, 64, 512);
    std::vector<float> y(64 * 64);
    const KernelMachine::Counters c = run_matmul(Target{GetParam()}, w, reals(random, 64 * 512), {}, y);
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
