// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/transpose.hpp: random cases of transpose.
#pragma once

#include <zrt/ops/transpose.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Transpose> {
  using Op = zrt::ops::Transpose;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = plain_shape(r);
    Typed<Op> c;
    c.in[0] = plain(r, b, shape);
    c.params.rank = shape.rank;
    std::iota(c.params.perm.begin(), c.params.perm.begin() + shape.rank, std::uint8_t{0});
    std::shuffle(c.params.perm.begin(), c.params.perm.begin() + shape.rank, r.engine());
    return c;
  }
  // Elements are only moved.
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::dtype; }
};

}  // namespace op_cases
