// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/cast.hpp: random cases of cast.
#pragma once

#include <zrt/ops/cast.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Cast> {
  using Op = zrt::ops::Cast;
  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.params = {computed_type(r)};
    c.in[0] = plain(r, b, plain_shape(r), computed_type(r));
    return c;
  }
  static constexpr bool allows(const Mutation& m) {
    return m.kind == Mutation::dtype || m.kind == Mutation::more_axes || m.kind == Mutation::no_axes;
  }
};

}  // namespace op_cases
