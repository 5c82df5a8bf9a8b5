// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/concat.hpp: random cases of concat.
#pragma once

#include <zrt/ops/concat.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Concat> {
  using Op = zrt::ops::Concat;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Value like = plain(r, b, plain_shape(r));
    Typed<Op> c;
    c.params.axis = r.between(0, like.type.shape.rank - 1u);
    for (std::uint32_t n = r.between(1, 5); n > 0; --n) {
      Shape shape = like.type.shape;
      // Extents along the axis are constants, or all of one symbol.
      Dim& along = shape.dims[c.params.axis];
      along.extent = along.symbol == 0 ? r.between(0, 7) : r.between(1, 2);
      c.in.push_back(plain(r, b, shape, like.type.dtype));
    }
    return c;
  }
  // One tensor alone may be of any plain type and shape.
  static constexpr bool allows(const Mutation& m) {
    return m.index == 0 && (m.kind == Mutation::dtype || m.kind == Mutation::more_axes);
  }
};

}  // namespace op_cases
