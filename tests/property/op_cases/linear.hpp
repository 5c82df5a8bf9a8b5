// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/linear.hpp: random cases of linear.
#pragma once

#include <zrt/ops/linear.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Linear> {
  using Op = zrt::ops::Linear;
  // Both forms dequantise and use dot16; the bias is added last in both.
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t cols = any_width(r);
    const std::uint32_t rows = r.between(1, 40);
    Typed<Op> c;
    c.in[0] = f32(r, b, any_shape(r, cols));
    c.w = {matrix(r, rows, cols), maybe(r, vector(r, rows))};
    return c;
  }
};

}  // namespace op_cases
