// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/head_columns.hpp: random cases of head_columns.
#pragma once

#include <zrt/ops/head_columns.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::HeadColumns> {
  using Op = zrt::ops::HeadColumns;

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    const std::uint32_t first = r.between(0, 40);
    const std::uint32_t count = r.between(1, 40);
    c.params = {r.between(1, 4), first + count + r.between(0, 9), first, count};
    c.in[0] = f32(r, b, Shape{kRows, c.params.heads * c.params.head_dim});
    if (r.chance()) c.in[1] = f32(r, b, Shape{kRows, c.params.heads * count});
    return c;
  }
};

}  // namespace op_cases
