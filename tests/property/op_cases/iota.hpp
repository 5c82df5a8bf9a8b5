// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/iota.hpp: random cases of iota.
#pragma once

#include <zrt/ops/iota.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Iota> {
  using Op = zrt::ops::Iota;
  static Typed<Op> make(Random& r, const Batch&) {
    const Shape shape = plain_shape(r);
    Typed<Op> c;
    c.params.shape = zrt::ShapeParams::of(shape);
    c.params.axis = static_cast<std::uint8_t>(r.between(0, shape.rank - 1u));
    c.params.dtype = number_type(r);
    return c;
  }
};

}  // namespace op_cases
