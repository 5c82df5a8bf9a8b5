// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/reshape.hpp: random cases of reshape.
#pragma once

#include <zrt/ops/reshape.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Reshape> {
  using Op = zrt::ops::Reshape;
  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t x = r.between(1, 9);
    const std::uint32_t y = r.between(2, 9);
    Typed<Op> c;
    c.params = {zrt::ShapeParams::of(r.chance() ? Shape{kRows, x, y} : Shape{Dim{x, kTokens}, y})};
    c.in[0] = plain(r, b, Shape{kRows, x * y});
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::dtype; }
};

}  // namespace op_cases
