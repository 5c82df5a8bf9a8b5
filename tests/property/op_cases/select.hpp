// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/select.hpp: random cases of select.
#pragma once

#include <zrt/ops/select.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Select> {
  using Op = zrt::ops::Select;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = plain_shape(r);
    const DType dtype = plain_type(r);
    Typed<Op> c;
    c.in = {plain(r, b, shape, DType::i1), plain(r, b, shape, dtype), plain(r, b, shape, dtype)};
    return c;
  }
};

}  // namespace op_cases
