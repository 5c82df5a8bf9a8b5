// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/pad.hpp: random cases of pad.
#pragma once

#include <zrt/ops/pad.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Pad> {
  using Op = zrt::ops::Pad;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = plain_shape(r);
    Typed<Op> c;
    c.in[0] = plain(r, b, shape);
    c.params.rank = shape.rank;
    for (std::size_t axis = 0; axis < shape.rank; ++axis) {
      if (shape[axis].symbol != 0) continue;
      c.params.low[axis] = r.between(0, 2);
      c.params.high[axis] = r.between(0, 2);
      c.params.interior[axis] = r.between(0, 2);
    }
    for (std::uint8_t& byte : c.params.value) byte = static_cast<std::uint8_t>(r.between(0, 1));
    return c;
  }
  // Elements are only moved.
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::dtype; }
};

}  // namespace op_cases
