// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/layer_norm.hpp: random cases of layer_norm.
#pragma once

#include <zrt/ops/layer_norm.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::LayerNorm> {
  using Op = zrt::ops::LayerNorm;
  // The same operations in the same order.
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = r.chance() ? plain_shape(r) : any_shape(r, r.between(1, 300));
    const DType dtype = float_type(r);
    Typed<Op> c;
    c.params.epsilon = r.one_of({0.0, 1e-5, 1e-12, 0.5});
    c.params.feature_axis = r.between(0, shape.rank - 1u);
    const Shape features{shape[c.params.feature_axis]};
    c.in = {numbers(r, b, shape, dtype, -5.0f, 9.0f), numbers(r, b, features, dtype, -2.0f, 2.0f),
            numbers(r, b, features, dtype, -2.0f, 2.0f)};
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.index == 0 && m.kind == Mutation::more_axes; }
};

}  // namespace op_cases
