// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/shared_expert.hpp: random cases of shared_expert.
#pragma once

#include <zrt/ops/shared_expert.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::SharedExpert> {
  using Op = zrt::ops::SharedExpert;

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t cols = any_width(r);
    const std::uint32_t outputs = any_width(r);
    Typed<Op> c;
    c.in = {f32(r, b, Shape{kRows, cols}), f32(r, b, Shape{kRows, outputs}), f32(r, b, Shape{kRows, outputs})};
    c.w = {vector(r, cols)};
    return c;
  }
};

}  // namespace op_cases
