// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/top_k.hpp: random cases of top_k.
#pragma once

#include <zrt/ops/top_k.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::TopK> {
  using Op = zrt::ops::TopK;
  static Typed<Op> make(Random& r, const Batch& b) {
    Shape shape = plain_shape(r);
    Typed<Op> c;
    c.params.axis = static_cast<std::uint8_t>(r.between(0, shape.rank - 1u));
    shape.dims[c.params.axis] = r.between(0, 20);
    c.in[0] = plain(r, b, shape, computed_type(r));
    c.params.k = r.between(0, shape[c.params.axis].extent);
    c.params.largest = r.chance();
    c.params.indices_dtype = r.one_of({DType::si32, DType::si64});
    return c;
  }
  // Any type that has an order, and axes behind the others.
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::dtype || m.kind == Mutation::more_axes; }
};

}  // namespace op_cases
