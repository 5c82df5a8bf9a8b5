// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/dynamic_slice.hpp: random cases of dynamic_slice.
#pragma once

#include <zrt/ops/dynamic_slice.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::DynamicSlice> {
  using Op = zrt::ops::DynamicSlice;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = plain_shape(r);
    Typed<Op> c;
    c.in[0] = plain(r, b, shape);
    Shape sizes = shape;
    for (std::size_t axis = 0; axis < shape.rank; ++axis)
      if (shape[axis].symbol == 0) sizes.dims[axis].extent = r.between(0, shape[axis].extent);
    c.params.sizes = zrt::ShapeParams::of(sizes);
    // Also out of range on either side.
    c.in[1] = indices(r, b, Shape{shape.rank}, 12, -5);
    return c;
  }
  // Elements are only moved.
  static constexpr bool allows(const Mutation& m) { return m.index == 0 && m.kind == Mutation::dtype; }
};

}  // namespace op_cases
