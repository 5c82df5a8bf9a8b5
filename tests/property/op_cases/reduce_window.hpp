// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/reduce_window.hpp: random cases of reduce_window.
#pragma once

#include <zrt/ops/reduce_window.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::ReduceWindow> {
  using Op = zrt::ops::ReduceWindow;
  static Typed<Op> make(Random& r, const Batch& b) {
    using enum zrt::ops::ReduceKind;
    Typed<Op> c;
    c.params.kind = r.one_of({sum, maximum, minimum});
    c.params.accum_dtype = number_type(r);
    c.params.out_dtype = computed_type(r);
    Shape shape = plain_shape(r);
    while (shape.rank > 3) --shape.rank;
    c.params.rank = shape.rank;
    for (std::size_t axis = 0; axis < shape.rank; ++axis) {
      const bool slides = shape[axis].symbol == 0;
      c.params.window[axis] = slides ? r.between(1, 3) : 1;
      c.params.strides[axis] = slides ? r.between(1, 3) : 1;
      c.params.pad_low[axis] = slides ? r.between(0, 2) : 0;
      c.params.pad_high[axis] = slides ? r.between(0, 2) : 0;
      c.params.base_dilation[axis] = slides ? r.between(1, 3) : 1;
      c.params.window_dilation[axis] = r.between(1, 3);
    }
    c.in[0] = plain(r, b, shape, computed_type(r));
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::dtype; }
};

}  // namespace op_cases
