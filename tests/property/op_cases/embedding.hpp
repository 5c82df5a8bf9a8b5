// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/embedding.hpp: random cases of embedding.
#pragma once

#include <zrt/ops/embedding.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Embedding> {
  using Op = zrt::ops::Embedding;
  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t rows = r.between(1, 40);
    Typed<Op> c;
    c.params = {r.one_of({1.0f, 11.3f})};
    c.in[0] = si32(r, b, Shape{kRows}, 0, rows - 1);
    const std::uint32_t width = any_width(r);
    c.w[0] = matrix(r, rows, width);
    if (r.chance()) return c;
    c.in[1] = f32(r, b, Shape{kRows, width});
    for (std::size_t t = 0; t < elements(Shape{kRows}, b); ++t) {
      const std::int32_t given = -1 - static_cast<std::int32_t>(r.between(0, 9));
      if (r.chance()) std::memcpy(c.in[0].data.data() + t * sizeof given, &given, sizeof given);
    }
    return c;
  }
  // Ids may have any number of axes where no rows are given.
  static constexpr bool allows(const Mutation& m) { return !m.weight && m.index == 0 && m.kind == Mutation::more_axes; }
};

}  // namespace op_cases
