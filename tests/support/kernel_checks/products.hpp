// SPDX-License-Identifier: Apache-2.0
// tests/support/kernel_checks/products.hpp: matrix products and the rounding of activations, against the ops'
// references; launches are those of ops.hpp.
#pragma once

#include <zrt/device/adapters/product_kernels.hpp>

#include <algorithm>
#include <limits>
#include <support/kernel_matrix.hpp>

namespace zrt::test::kernel_checks {

inline const device::ProductKernels& product(DType dtype) {
  return **device::find_product({.dtype = dtype}, quant::facts(dtype)->act);
}

/// Whether a scale of the type can be infinite: one of a byte cannot.
inline bool has_infinity(DType dtype) { return dtype != DType::mxfp4 && dtype != DType::nvfp4; }

/// Makes all products of a token with a row of weights without blocks underflow to -0, as their sum then does: what fills
/// up the last columns changes nothing.
inline void underflow(KernelMatrix& w, std::uint32_t row, std::vector<float>& x) {
  w.set_row(row, 0.25f);
  std::fill_n(x.begin(), w.cols, -std::numeric_limits<float>::denorm_min());
}

/// Launches `kernel` (matvec or matmul) on a matrix and rows of f32, which are rounded first where the type wants it, with
/// `values` behind the matrix's rows and columns; y has their products.
template <class Kernels>
auto run_product(Kernels&& kernels, const std::string& kernel, const KernelMatrix& w, const std::vector<float>& x,
                 const std::vector<float>& bias, std::vector<float>& y, const std::vector<std::uint32_t>& values,
                 std::array<std::uint32_t, 2> grid) {
  auto m = kernels.launch(kernel + w.suffix());
  for (const std::vector<std::byte>& part : w.parts) m.input(part);
  const bool is_rounded = w.act() != quant::Act::none;
  const Rounded rounded(is_rounded ? x : std::vector<float>(), w.act());
  if (is_rounded) {
    m.input(rounded.q);
    m.input(rounded.d);
  } else {
    m.input(x);
  }
  bias.empty() ? m.absent() : static_cast<void>(m.input(bias));
  m.output(y);
  m.push(w.rows);
  m.push(w.cols);
  for (const std::uint32_t value : values) m.push(value);
  return m.run(grid[0], grid[1]);
}

/// The vector kernel on all tokens of x.
template <class Kernels>
auto run_matvec(Kernels&& kernels, const KernelMatrix& w, const std::vector<float>& x, const std::vector<float>& bias,
                std::vector<float>& y) {
  const device::ProductKernels& family = product(w.dtype);
  const auto tokens = static_cast<std::uint32_t>(x.size() / w.cols);
  return run_product(
      kernels, "matvec", w, x, bias, y, {tokens},
      {(w.rows + device::kVectorRows - 1) / device::kVectorRows, (tokens + family.tokens - 1) / family.tokens});
}

/// The matrix kernel on all tokens of x.
template <class Kernels>
auto run_matmul(Kernels&& kernels, const KernelMatrix& w, const std::vector<float>& x, const std::vector<float>& bias,
                std::vector<float>& y) {
  const auto tokens = static_cast<std::uint32_t>(x.size() / w.cols);
  return run_product(kernels, "matmul", w, x, bias, y, {tokens}, {(w.rows + 63) / 64, (tokens + 63) / 64});
}

/// Activations, with what is no number.
template <class Kernels> void check_rounding(Kernels&& kernels) {
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
      auto m = kernels.launch(wide ? "round_activation_q8_256" : "round_activation_q8_32");
      m.input(x);
      m.output(q);
      m.output(d);
      if (!wide) m.push(groups);
      m.run(wide ? groups : (groups + 7) / 8);
      EXPECT_EQ(q, want.q);
      expect_same(d, want.d);
    }
}

/// The vector kernels of each type, of rows and tokens of whole workgroups and of parts.
template <class Kernels> void check_matvec(Kernels&& kernels) {
  std::mt19937 random(2);
  struct Case {
    std::uint32_t rows, blocks, tokens;
  };
  // Rows of a whole workgroup, of a part of one, and of both; the blocks of a step, of its parts, and more than those
  // whose scales fit local memory; tokens of a whole workgroup, of a part of one, and of both.
  const std::vector<Case> of_256 = {{1, 1, 1}, {32, 3, 8}, {51, 2, 3}, {9, 65, 1}, {32, 1, 9}};
  const std::vector<Case> of_32 = {{1, 1, 1},   {32, 3, 8},   {51, 17, 3}, {16, 64, 9},
                                   {35, 65, 2}, {16, 131, 1}, {9, 130, 1}, {32, 30, 1}};
  const std::vector<Case> of_1 = {{1, 8, 1}, {32, 40, 4}, {51, 256, 3}, {32, 72, 1}, {43, 520, 5}, {32, 24, 2}};
  for (const device::UploadFunctions& type : kernels.types()) {
    const std::uint32_t elems = info(type.dtype).block_elems;
    for (const Case& c : elems == 256 ? of_256 : elems != 1 ? of_32 : of_1) {
      SCOPED_TRACE(testing::Message() << name(type.dtype) << " " << c.rows << " x " << c.blocks << ", " << c.tokens);
      KernelMatrix w(random, type.dtype, c.rows, c.blocks * elems);
      // An infinity stays in its row; scales of a byte have none.
      if (c.rows == 32 && elems != 1 && has_infinity(type.dtype))
        w.set_scale(3 * w.blocks, std::numeric_limits<float>::infinity());
      std::vector<float> x = reals(random, std::size_t{c.tokens} * w.cols, 5.0f);
      const std::vector<float> bias = c.rows > 32 ? reals(random, c.rows) : std::vector<float>();
      if (elems == 1 && c.rows == 32) underflow(w, 3, x);
      std::vector<float> got(std::size_t{c.tokens} * c.rows);
      run_matvec(kernels, w, x, bias, got);
      expect_same(got, product_of(w, x, bias));
    }
  }
}

/// The matrix kernels of each type, of rows and tokens of whole workgroups and of parts.
template <class Kernels> void check_matmul(Kernels&& kernels) {
  std::mt19937 random(1);
  struct Case {
    std::uint32_t rows, tokens, blocks;
  };
  // Blocks of 256 leave no step unfilled.
  const Case cases[] = {{1, 1, 1}, {16, 16, 3}, {70, 5, 1}, {37, 67, 2}, {8, 33, 9}};
  for (const auto& [dtype, parts, write] : kernels.types())
    for (const Case& c : cases) {
      SCOPED_TRACE(testing::Message() << name(dtype) << " " << c.rows << " x " << c.blocks << ", " << c.tokens);
      const std::uint32_t elems = info(dtype).block_elems;
      const std::uint32_t cols = elems == 256 ? (c.blocks + 2) / 3 * 256
                                 : elems != 1 ? c.blocks * elems
                                              : c.blocks * 40;
      KernelMatrix w(random, dtype, c.rows, cols);
      // An infinity stays in its row; scales of a byte have none.
      if (c.rows == 70 && elems != 1 && has_infinity(dtype))
        w.set_scale(64 * w.blocks, std::numeric_limits<float>::infinity());
      std::vector<float> x = reals(random, std::size_t{c.tokens} * w.cols, 5.0f);
      const std::vector<float> bias = c.rows == 37 ? reals(random, c.rows) : std::vector<float>();
      if (elems == 1 && c.rows == 16) underflow(w, 3, x);
      std::vector<float> got(std::size_t{c.tokens} * c.rows);
      run_matmul(kernels, w, x, bias, got);
      expect_same(got, product_of(w, x, bias));
    }
}

/// That a token has the same bits from both kernels, among how many it ever is, for odd, prime and large numbers of rows.
template <class Kernels> void check_numbers_of_tokens(Kernels&& kernels) {
  std::mt19937 random(9);
  for (const device::UploadFunctions& type : kernels.types())
    for (const std::uint32_t rows : {7u, 61u, 257u}) {
      const KernelMatrix w(random, type.dtype, rows, rows == 257 ? 512 : 256);
      const std::vector<float> x = reals(random, std::size_t{64} * w.cols, 5.0f), bias = reals(random, rows);
      const std::vector<float> want = product_of(w, x, bias);
      for (const std::uint32_t tokens : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 64u})
        for (const bool vector : {true, false}) {
          if (rows != 61 && tokens != 3 && tokens != 64) continue;
          SCOPED_TRACE(testing::Message() << name(type.dtype) << " " << rows << " rows, " << tokens << " tokens");
          const std::vector<float> some(x.data(), &x[std::size_t{tokens} * w.cols - 1] + 1);
          std::vector<float> got(std::size_t{tokens} * rows);
          vector ? run_matvec(kernels, w, some, bias, got) : run_matmul(kernels, w, some, bias, got);
          expect_same(got, {want.data(), &want[got.size() - 1] + 1});
        }
    }
}

}  // namespace zrt::test::kernel_checks
