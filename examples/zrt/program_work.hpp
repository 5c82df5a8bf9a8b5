// SPDX-License-Identifier: Apache-2.0
// examples/zrt/program_work.hpp: how much a tensor program computes.
#pragma once

#include <zrt/core/dims.hpp>
#include <zrt/ir/ptir/program.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace program {

/// True where all extents of the main region are numbers.
[[nodiscard]] bool is_constant(const zrt::ir::ptir::Program& program);

/// Floating-point operations of one run: two for each product that a contraction adds up, one for each element of any
/// other result that is not only moved. A region counts once, however often it runs. Extents must be constants.
[[nodiscard]] double flops(const zrt::ir::ptir::Program& program);

/// 3630000000 -> "3.63 G".
[[nodiscard]] std::string count_text(double count);

/// The bytes of a tensor whose elements are all one.
[[nodiscard]] std::vector<std::byte> ones_of(const zrt::TensorType& type);

}  // namespace program
