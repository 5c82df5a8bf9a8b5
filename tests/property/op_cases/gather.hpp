// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/gather.hpp: random cases of gather.
#pragma once

#include <zrt/ops/gather.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Gather> {
  using Op = zrt::ops::Gather;
  static Typed<Op> make(Random& r, const Batch& b) {
    Shape shape = plain_shape(r);
    Typed<Op> c;
    c.params.axis = r.between(0, shape.rank - 1u);
    Dim& along = shape.dims[c.params.axis];
    const std::uint32_t extent = r.between(1, 9);
    along = extent;
    c.in[0] = plain(r, b, shape);
    along = r.chance() ? kRows : Dim(r.between(0, 9));
    c.in[1] = indices(r, b, shape, extent);
    return c;
  }
  // Elements are only moved.
  static constexpr bool allows(const Mutation& m) { return m.index == 0 && m.kind == Mutation::dtype; }
};

}  // namespace op_cases
