// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/arg_max.hpp: random cases of arg_max.
#pragma once

#include <zrt/ops/arg_max.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::ArgMax> {
  using Op = zrt::ops::ArgMax;
  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.in[0] = f32(r, b, any_shape(r, r.between(1, 200)));
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::more_axes; }
};

}  // namespace op_cases
