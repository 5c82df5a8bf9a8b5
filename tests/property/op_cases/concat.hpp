// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/concat.hpp: random cases of concat.
#pragma once

#include <zrt/ops/concat.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Concat> {
  using Op = zrt::ops::Concat;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = any_shape(r, 1);
    Typed<Op> c;
    for (std::size_t i = 0; i < 2 + r.between(0, 2); ++i) c.in[i] = f32(r, b, shape.with_last(r.between(1, 40)));
    return c;
  }
};

}  // namespace op_cases
