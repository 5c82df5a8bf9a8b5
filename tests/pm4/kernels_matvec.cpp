// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernels_matvec.cpp: the matrix-vector kernels of kernels/: the references' bits, each weight byte read once.
#include <algorithm>
#include <limits>
#include <pm4/kernel_machine.hpp>
#include <support/kernel_checks/products.hpp>

namespace zrt::test::kernels_matvec_test {
namespace {

using namespace kernel_checks;

class MatvecKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, MatvecKernels, testing::Values("gfx1201", "gfx1100", "gfx1151"),
                         [](const auto& target) { return std::string(target.param); });

/// What a launch read of the weights, in bytes of the file.
double times_read(const KernelMatrix& w, const KernelMachine::Counters& c) {
  double read = 0;
  for (std::size_t region = 1; region <= w.parts.size(); ++region)
    read += static_cast<double>(c.regions[region].bytes_read);
  return read / static_cast<double>(w.file.size());
}

TEST_P(MatvecKernels, ActivationsAreRoundedAsTheReferenceRounds) { check_rounding(Target{GetParam()}); }

TEST_P(MatvecKernels, EachTypeHasTheReferencesBits) { check_matvec(Target{GetParam()}); }

/// What decides the speed on a card holds of each launch: bytes read, how they lie, and instructions issued.
TEST_P(MatvecKernels, EachWeightByteIsReadOnce) {
  std::mt19937 random(5);
  struct Case {
    std::uint32_t rows, cols;
  };
  // The matrices of bard and its vocabulary, and those of wider models.
  const Case cases[] = {{128, 256}, {256, 256}, {768, 256}, {2048, 256}, {256, 768},
                        {64, 576},  {64, 1024}, {64, 2048}, {64, 4096}};
  for (const device::UploadFunctions& type : device::kUploads)
    for (const Case& c : cases) {
      if (c.cols % info(type.dtype).block_elems != 0) continue;
      SCOPED_TRACE(testing::Message() << name(type.dtype) << " " << c.rows << " x " << c.cols);
      const KernelMatrix w(random, type.dtype, c.rows, c.cols);
      std::vector<float> y(c.rows);
      const KernelMachine::Counters counters = run_matvec(Target{GetParam()}, w, reals(random, c.cols), {}, y);
      for (std::size_t part = 0; part < w.parts.size(); ++part)
        EXPECT_GE(counters.regions[part + 1].contiguous_bytes(), 64) << type.parts[part].name;
      EXPECT_LE(times_read(w, counters), 1.03);
      // Two table look-ups and a sign of each four floats.
      const double most = type.dtype == DType::mxfp4 ? 0.081 : 0.08;
      EXPECT_LE(static_cast<double>(counters.wave_instructions) / (c.rows * c.cols), most);
    }
}

/// A last workgroup takes as many instructions as a whole one: docs/kernel-abi.md says from which rows on the bound holds.
TEST_P(MatvecKernels, FewRowsKeepTheBoundToo) {
  std::mt19937 random(8);
  struct Case {
    DType dtype;
    std::uint32_t cols;
    std::vector<std::uint32_t> rows;  ///< of one workgroup, of two, ...: the fewest
  };
  const Case cases[] = {
      {DType::f32, 256, {23, 45, 67, 97}},   {DType::f32, 768, {20, 39, 65}},
      {DType::f32, 2048, {18, 36, 65}},      {DType::f16, 256, {25, 49, 73, 98, 129}},
      {DType::f16, 768, {22, 43, 65}},       {DType::f16, 2048, {21, 41, 65}},
      {DType::bf16, 256, {32, 63, 94, 125}}, {DType::bf16, 768, {28, 56, 84}},
      {DType::bf16, 2048, {27, 54, 81}},     {DType::q8_0, 256, {13, 33, 65}},
      {DType::q8_0, 768, {10, 33, 65}},      {DType::q8_0, 2048, {9, 33, 65}},
      {DType::q4_0, 256, {17, 33, 65}},      {DType::q4_0, 768, {14, 33, 65}},
      {DType::q4_0, 2048, {13, 33, 65}},     {DType::mxfp4, 768, {30, 59, 88}},
      {DType::mxfp4, 2048, {29, 57, 85}},    {DType::q4_k, 256, {16, 33, 65}},
      {DType::q4_k, 768, {13, 33, 65}},      {DType::q4_k, 2048, {13, 33, 65}},
      {DType::q5_k, 256, {24, 47, 71, 97}},  {DType::q5_k, 768, {21, 42, 65}},
      {DType::q5_k, 2048, {20, 40, 65}},     {DType::q6_k, 256, {24, 47, 70, 97}},
      {DType::q6_k, 768, {21, 42, 65}},      {DType::q6_k, 2048, {20, 40, 65}},
  };
  EXPECT_EQ(std::size(cases), 3 * device::kUploads.size() - 1) << "MXFP4 is above the bound with 256 columns";
  for (const Case& c : cases)
    for (const std::uint32_t rows : c.rows) {
      SCOPED_TRACE(testing::Message() << name(c.dtype) << " " << rows << " x " << c.cols);
      const KernelMatrix w(random, c.dtype, rows, c.cols);
      std::vector<float> y(rows);
      const KernelMachine::Counters counters = run_matvec(Target{GetParam()}, w, reals(random, c.cols), {}, y);
      EXPECT_LE(static_cast<double>(counters.wave_instructions) / (rows * c.cols), 0.08);
    }
}

TEST_P(MatvecKernels, ALastWorkgroupReadsNoMoreThanItsRows) {
  std::mt19937 random(7);
  for (const device::UploadFunctions& type : device::kUploads)
    for (const std::uint32_t rows : {1u, 11u, 44u}) {
      SCOPED_TRACE(testing::Message() << name(type.dtype) << ", " << rows);
      const KernelMatrix w(random, type.dtype, rows, 768);
      std::vector<float> y(rows);
      EXPECT_EQ(times_read(w, run_matvec(Target{GetParam()}, w, reals(random, w.cols), {}, y)), 1);
    }
}

TEST_P(MatvecKernels, OneReadOfTheWeightsServesSeveralTokens) {
  std::mt19937 random(6);
  for (const device::UploadFunctions& type : device::kUploads)
    for (const std::uint32_t tokens : {1u, 2u, 4u, 8u, 16u}) {
      SCOPED_TRACE(testing::Message() << name(type.dtype) << ", " << tokens);
      const KernelMatrix w(random, type.dtype, 64, 256);
      const std::vector<float> x = reals(random, std::size_t{tokens} * w.cols, 5.0f);
      std::vector<float> y(std::size_t{tokens} * w.rows);
      const std::uint32_t together = product(type.dtype).tokens;
      EXPECT_LE(times_read(w, run_matvec(Target{GetParam()}, w, x, {}, y)),
                1.03 * ((tokens + together - 1) / together));
      // The last one alone has the bits that it has among the others.
      std::vector<float> alone(w.rows);
      run_matvec(Target{GetParam()}, w, {x.end() - w.cols, x.end()}, {}, alone);
      expect_same(alone, {y.end() - w.rows, y.end()});
    }
}

}  // namespace
}  // namespace zrt::test::kernels_matvec_test
