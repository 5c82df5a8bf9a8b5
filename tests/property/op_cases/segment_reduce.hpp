// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/segment_reduce.hpp: random cases of segment_reduce.
#pragma once

#include <zrt/ops/segment_reduce.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::SegmentReduce> {
  using Op = zrt::ops::SegmentReduce;
  static Typed<Op> make(Random& r, const Batch& b) {
    using enum zrt::ops::ReduceKind;
    Typed<Op> c;
    c.params.num_segments = r.between(1, 9);
    c.params.kind = r.one_of({sum, maximum, minimum});
    c.params.accum_dtype = number_type(r);
    Shape shape = plain_shape(r);
    shape.dims[0] = r.chance() ? kRows : Dim(r.between(0, 20));
    c.in[0] = plain(r, b, shape, computed_type(r));
    c.in[1] = indices(r, b, Shape{shape[0]}, c.params.num_segments);
    return c;
  }
  static constexpr bool allows(const Mutation& m) {
    return m.index == 0 && (m.kind == Mutation::dtype || m.kind == Mutation::more_axes);
  }
};

}  // namespace op_cases
