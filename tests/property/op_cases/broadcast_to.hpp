// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/broadcast_to.hpp: random cases of broadcast_to.
#pragma once

#include <zrt/ops/broadcast_to.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::BroadcastTo> {
  using Op = zrt::ops::BroadcastTo;
  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t x = r.between(1, 5);
    const std::uint32_t y = r.between(1, 40);
    Typed<Op> c;
    c.params = {zrt::ShapeParams::of(Shape{kRows, x, y})};
    const Shape from[] = {Shape{y}, Shape{1, 1}, Shape{x, 1}, Shape{1, 1, y}, Shape{kRows, 1, y}, Shape{}};
    c.in[0] = plain(r, b, from[r.between(0, 5)]);
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::dtype || m.kind == Mutation::no_axes; }
};

}  // namespace op_cases
