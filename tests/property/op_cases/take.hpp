// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/take.hpp: random cases of take.
#pragma once

#include <zrt/ops/take.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Take> {
  using Op = zrt::ops::Take;
  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t rows = r.between(1, 30);
    Typed<Op> c;
    c.in = {plain(r, b, r.chance() ? Shape{rows, r.between(0, 40)} : Shape{rows}),
            indices(r, b, r.chance() ? Shape{kRows} : Shape{kRows, 3}, rows)};
    return c;
  }
  // Rows of any type and shape, indices of any shape.
  static constexpr bool allows(const Mutation& m) {
    return m.index == 0 ? m.kind == Mutation::dtype || m.kind == Mutation::more_axes
                        : m.kind == Mutation::more_axes || m.kind == Mutation::no_axes;
  }
};

}  // namespace op_cases
