// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/arg_max.hpp: random cases of arg_max.
#pragma once

#include <zrt/ops/arg_max.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::ArgMax> {
  using Op = zrt::ops::ArgMax;
  static Typed<Op> make(Random& r, const Batch& b) {
    Shape shape = plain_shape(r);
    Typed<Op> c;
    c.params.axis = static_cast<std::uint8_t>(r.between(0, shape.rank - 1u));
    c.params.keep_dims = static_cast<std::uint8_t>(r.between(0, 1));
    c.params.index_dtype = r.one_of({DType::si32, DType::si64});
    if (shape[c.params.axis].extent == 0 || r.chance()) shape.dims[c.params.axis] = r.between(1, 300);
    c.in[0] = plain(r, b, shape, computed_type(r));
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::dtype || m.kind == Mutation::more_axes; }
};

}  // namespace op_cases
