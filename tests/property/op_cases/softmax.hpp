// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/softmax.hpp: random cases of softmax.
#pragma once

#include <zrt/ops/softmax.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Softmax> {
  using Op = zrt::ops::Softmax;
  // The same operations in the same order.
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.in[0] = f32(r, b, any_shape(r, r.between(1, 200)), -20.0f, 20.0f);
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::more_axes; }
};

}  // namespace op_cases
