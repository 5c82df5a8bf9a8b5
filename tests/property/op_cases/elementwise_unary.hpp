// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/elementwise_unary.hpp: random cases of elementwise_unary.
#pragma once

#include <zrt/ops/elementwise_unary.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::ElementwiseUnary> {
  using Op = zrt::ops::ElementwiseUnary;
  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.params = {static_cast<zrt::ops::UnaryKind>(r.between(0, zrt::ops::kUnaryKinds - 1))};
    c.in[0] = f32(r, b, any_shape(r, r.between(1, 100)), -9.0f, 9.0f);
    return c;
  }
  static constexpr bool allows(const Mutation& m) {
    return m.kind == Mutation::more_axes || m.kind == Mutation::no_axes;
  }
};

}  // namespace op_cases
