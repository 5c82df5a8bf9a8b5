// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/slice.hpp: random cases of slice.
#pragma once

#include <zrt/ops/slice.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Slice> {
  using Op = zrt::ops::Slice;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = plain_shape(r);
    Typed<Op> c;
    c.in[0] = plain(r, b, shape);
    Shape sizes = shape;
    for (std::size_t axis = 0; axis < shape.rank; ++axis) {
      // An axis of rows is taken whole, or without its first ones: of one row at least there is one.
      if (shape[axis].symbol != 0) continue;
      c.params.starts[axis] = r.between(0, shape[axis].extent);
      sizes.dims[axis].extent = r.between(0, shape[axis].extent - c.params.starts[axis]);
    }
    c.params.sizes = zrt::ShapeParams::of(sizes);
    return c;
  }
  // Elements are only moved.
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::dtype; }
};

}  // namespace op_cases
