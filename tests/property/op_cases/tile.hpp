// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/tile.hpp: random cases of tile.
#pragma once

#include <zrt/ops/tile.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Tile> {
  using Op = zrt::ops::Tile;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = plain_shape(r);
    Typed<Op> c;
    c.in[0] = plain(r, b, shape);
    c.params.rank = shape.rank;
    for (std::size_t axis = 0; axis < shape.rank; ++axis) c.params.repeats[axis] = r.between(0, 3);
    return c;
  }
  // Elements are only moved.
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::dtype; }
};

}  // namespace op_cases
