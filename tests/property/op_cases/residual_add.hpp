// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/residual_add.hpp: random cases of residual_add.
#pragma once

#include <zrt/ops/residual_add.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::ResidualAdd> {
  using Op = zrt::ops::ResidualAdd;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = any_shape(r, r.between(1, 100));
    Typed<Op> c;
    c.params = {r.one_of({1.0f, 0.22f})};
    c.in = {f32(r, b, shape), f32(r, b, shape)};
    return c;
  }
};

}  // namespace op_cases
