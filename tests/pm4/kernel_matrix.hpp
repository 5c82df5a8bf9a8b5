// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernel_matrix.hpp: a matrix product on the interpreter.
#pragma once

#include <pm4/kernel_machine.hpp>
#include <support/kernel_matrix.hpp>

namespace zrt::test {

/// Launches `kernel` (matvec or matmul) on a matrix and rows of f32, which are rounded first where the type wants it, with
/// `values` behind the matrix's rows and columns; y has their products.
inline KernelMachine::Counters run_product(const std::string& target, const std::string& kernel, const KernelMatrix& w,
                                           const std::vector<float>& x, const std::vector<float>& bias,
                                           std::vector<float>& y, const std::vector<std::uint32_t>& values,
                                           std::array<std::uint32_t, 2> grid) {
  KernelMachine m(target, kernel + w.suffix());
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

}  // namespace zrt::test
