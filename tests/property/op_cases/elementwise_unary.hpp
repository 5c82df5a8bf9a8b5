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
    const bool whole = c.params.kind == zrt::ops::UnaryKind::neg || c.params.kind == zrt::ops::UnaryKind::abs;
    const Shape shape = any_shape(r, r.between(0, 150));
    if (whole && r.chance())
      c.in[0] = plain(r, b, shape, r.one_of({DType::si4, DType::ui4, DType::si8, DType::ui16, DType::si64}));
    else
      c.in[0] = r.chance() ? plain(r, b, shape, float_type(r)) : numbers(r, b, shape, float_type(r), -9.0f, 9.0f);
    return c;
  }
  static constexpr bool allows(const Mutation& m) {
    return m.kind == Mutation::dtype || m.kind == Mutation::more_axes || m.kind == Mutation::no_axes;
  }
};

}  // namespace op_cases
