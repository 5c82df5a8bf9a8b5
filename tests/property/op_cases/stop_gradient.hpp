// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/stop_gradient.hpp: random cases of stop_gradient.
#pragma once

#include <zrt/ops/stop_gradient.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::StopGradient> {
  using Op = zrt::ops::StopGradient;
  // The same elements.
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.in[0] = plain(r, b, plain_shape(r));
    return c;
  }
  static constexpr bool allows(const Mutation& m) {
    return m.kind == Mutation::dtype || m.kind == Mutation::more_axes || m.kind == Mutation::no_axes;
  }
};

}  // namespace op_cases
