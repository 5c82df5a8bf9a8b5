// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/weight_scale.hpp: random cases of weight_scale.
#pragma once

#include <zrt/ops/weight_scale.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::WeightScale> {
  using Op = zrt::ops::WeightScale;

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.in[0] = f32(r, b, any_shape(r, r.between(1, 150)));
    c.w[0] = vector(r, 1);
    return c;
  }
  static constexpr bool allows(const Mutation& m) {
    return !m.weight && m.kind <= Mutation::more_axes && m.kind != Mutation::dtype;
  }
};

}  // namespace op_cases
