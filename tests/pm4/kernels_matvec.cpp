// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernels_matvec.cpp: the matrix-vector kernels of kernels/: the references' bits, each weight byte read once.
#include <iostream>
#include <limits>
#include <pm4/kernel_matrix.hpp>

namespace zrt::test::kernels_matvec_test {
namespace {

class MatvecKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, MatvecKernels, testing::Values("gfx1201", "gfx1100"),
                         [](const auto& target) { return std::string(target.param); });

bool is_plain(DType dtype) { return dtype == DType::f32 || dtype == DType::f16; }

KernelMachine::Counters run(const char* target, const KernelMatrix& w, const std::vector<float>& x,
                            const std::vector<float>& bias, std::vector<float>& y) {
  const std::uint32_t rows = is_plain(w.dtype) ? 16 : 8;
  return run_product(target, "matvec", w, x, bias, y, {},
                     {(w.rows + rows - 1) / rows, static_cast<std::uint32_t>(x.size() / w.cols)});
}

TEST_P(MatvecKernels, ActivationsAreRoundedAsTheReferenceRounds) {
  std::mt19937 random(1);
  for (const bool wide : {false, true})
    for (const std::uint32_t groups : {1u, 8u, 19u}) {
      const quant::Act act = wide ? quant::Act::q8_256 : quant::Act::q8_32;
      const std::uint32_t size = quant::group_elems(act);
      std::vector<float> x = reals(random, std::size_t{groups} * size, 3.0f);
      const float specials[] = {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 0.0f,
                                1e-38f};
      if (groups > 8)
        for (std::size_t g = 0; g < 4; ++g) {
          if (g >= 2) std::fill_n(&x[(g + 3) * size], size, 0.0f);
          x[(g + 3) * size + 7 * g] = specials[g];
        }
      const Rounded want(x, act);
      std::vector<std::int8_t> q(x.size(), 99);
      std::vector<float> d(groups, -1.0f);
      KernelMachine m(GetParam(), wide ? "round_activation_q8_256" : "round_activation_q8_32");
      m.input(x);
      m.output(q);
      m.output(d);
      if (!wide) m.push(groups);
      m.run(wide ? groups : (groups + 7) / 8);
      EXPECT_EQ(q, want.q);
      expect_same(d, want.d);
    }
}

TEST_P(MatvecKernels, EachTypeHasTheReferencesBits) {
  std::mt19937 random(2);
  for (const pm4::UploadFunctions& type : pm4::kUploads) {
    // Fewer columns than a step, whole steps, and steps with what is left; of the K types every width of a step.
    const std::vector<std::uint32_t> all_cols = is_plain(type.dtype) ? std::vector<std::uint32_t>{8, 40, 256, 520}
                                                : info(type.dtype).block_elems == 32
                                                    ? std::vector<std::uint32_t>{32, 96, 544, 1024, 2080}
                                                    : std::vector<std::uint32_t>{256, 512, 768, 1792, 2048};
    for (const std::uint32_t rows : {1u, is_plain(type.dtype) ? 16u : 8u, 19u})
      for (const std::uint32_t cols : all_cols) {
        SCOPED_TRACE(testing::Message() << name(type.dtype) << " " << rows << " x " << cols);
        const std::size_t tokens = rows % 8 == 0 ? 3 : 1;
        KernelMatrix w(random, type.dtype, rows, cols);
        // An infinity stays in its row, also where lanes behind a short one load it again.
        if (rows == 8) w.set_scale(3 * w.blocks, 0x7c00);
        const std::vector<float> x = reals(random, tokens * cols, 5.0f),
                                 bias = rows == 19 ? reals(random, rows) : std::vector<float>();
        std::vector<float> got(tokens * rows);
        run(GetParam(), w, x, bias, got);
        expect_same(got, product_of(w, x, bias));
      }
  }
}

/// What decides the speed on a card: bytes read, how they lie, and instructions issued.
TEST_P(MatvecKernels, EachWeightByteIsReadOnce) {
  std::mt19937 random(5);
  constexpr std::uint32_t kRows = 64, kCols = 2048;
  for (const pm4::UploadFunctions& type : pm4::kUploads) {
    SCOPED_TRACE(name(type.dtype));
    const KernelMatrix w(random, type.dtype, kRows, kCols);
    std::vector<float> y(kRows);
    const KernelMachine::Counters c = run(GetParam(), w, reals(random, kCols), {}, y);
    double read = 0;
    for (std::size_t region = 1; region <= w.parts.size(); ++region) {
      read += static_cast<double>(c.regions[region].bytes_read);
      EXPECT_GE(c.regions[region].contiguous_bytes(), 64u) << type.parts[region - 1].name;
    }
    const double once = static_cast<double>(w.file.size());
    const double per_weight = static_cast<double>(c.wave_instructions) / (kRows * kCols);
    std::cout << "matvec" << w.suffix() << " " << GetParam() << ": " << read / once
              << " times the weights' bytes read, " << per_weight << " wave instructions per weight\n";
    EXPECT_LE(read, 1.03 * once);
    EXPECT_LE(per_weight, 0.08);
  }
}

}  // namespace
}  // namespace zrt::test::kernels_matvec_test
