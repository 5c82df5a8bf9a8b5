// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/linear_heads.hpp: random cases of linear_heads.
#pragma once

#include <zrt/ops/linear_heads.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::LinearHeads> {
  using Op = zrt::ops::LinearHeads;
  // Both forms dequantise and use dot16.
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t cols = any_width(r);
    const std::uint32_t rows = r.between(1, 40);
    Typed<Op> c;
    c.params.heads = r.between(1, 4);
    c.params.pass = r.one_of({0u, 1u, 7u, 16u});
    c.in[0] = f32(r, b, Shape{kRows, c.params.heads * (cols + c.params.pass)});
    c.w[0] = by_head(r, c.params.heads, rows, cols);
    return c;
  }
  /// A matrix of each head.
  static Stored by_head(Random& r, std::uint32_t heads, std::uint32_t rows, std::uint32_t cols) {
    Stored w = matrix(r, heads * rows, cols);
    w.shape = Shape{heads, rows, cols};
    return w;
  }
};

}  // namespace op_cases
