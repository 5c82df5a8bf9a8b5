// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/scatter_reduce.hpp: random cases of scatter_reduce.
#pragma once

#include <zrt/ops/scatter_reduce.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::ScatterReduce> {
  using Op = zrt::ops::ScatterReduce;
  static Typed<Op> make(Random& r, const Batch& b) {
    using enum zrt::ops::ScatterKind;
    Typed<Op> c;
    c.params.reduce = r.one_of({add, maximum, minimum, replace});
    const DType dtype = c.params.reduce == replace ? plain_type(r) : number_type(r);
    Shape shape = plain_shape(r);
    c.params.axis = r.between(0, shape.rank - 1u);
    Dim& along = shape.dims[c.params.axis];
    const std::uint32_t extent = r.between(1, 9);
    along = extent;
    c.in[0] = plain(r, b, shape, dtype);
    along = r.chance() ? kRows : Dim(r.between(0, 9));
    c.in[1] = indices(r, b, shape, extent);
    c.in[2] = plain(r, b, shape, dtype);
    return c;
  }
};

}  // namespace op_cases
