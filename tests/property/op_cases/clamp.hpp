// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/clamp.hpp: random cases of clamp.
#pragma once

#include <zrt/ops/clamp.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Clamp> {
  using Op = zrt::ops::Clamp;
  // The same comparisons.
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = plain_shape(r);
    const DType dtype = computed_type(r);
    Typed<Op> c;
    c.in = {plain(r, b, shape, dtype), plain(r, b, shape, dtype), plain(r, b, shape, dtype)};
    return c;
  }
};

}  // namespace op_cases
