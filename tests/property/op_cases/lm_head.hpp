// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/lm_head.hpp: random cases of lm_head.
#pragma once

#include <zrt/ops/lm_head.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::LmHead> {
  using Op = zrt::ops::LmHead;
  // The same operations in the same order.
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t cols = any_width(r);
    Typed<Op> c;
    c.params = {r.one_of({1.0f, 0.0625f}), r.one_of({0.0f, 30.0f}), {}, {}};
    c.in[0] = f32(r, b, Shape{kRows, cols});
    c.w[0] = matrix(r, r.between(1, 90), cols);
    return c;
  }
};

}  // namespace op_cases
