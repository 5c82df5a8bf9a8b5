// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/reduce.hpp: random cases of reduce.
#pragma once

#include <zrt/ops/reduce.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Reduce> {
  using Op = zrt::ops::Reduce;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = r.chance() ? plain_shape(r) : any_shape(r, r.between(0, 300));
    Typed<Op> c;
    c.params.kind = static_cast<zrt::ops::ReduceKind>(r.between(0, zrt::ops::kReduceKinds - 1));
    c.params.keep_dims = static_cast<std::uint8_t>(r.between(0, 1));
    c.params.axes = static_cast<std::uint8_t>(r.between(0, (1u << shape.rank) - 1));
    const DType dtype = r.chance() ? DType::f32 : computed_type(r);
    c.params.accum_dtype = r.between(0, 3) != 0 ? zrt::default_accumulator(dtype) : computed_type(r);
    if (c.params.accum_dtype == DType::i1) c.params.accum_dtype = DType::ui16;
    c.params.out_dtype = r.between(0, 3) != 0 ? dtype : computed_type(r);
    c.in[0] = plain(r, b, shape, dtype);
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.kind != Mutation::missing; }
};

}  // namespace op_cases
