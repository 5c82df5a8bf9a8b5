// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/constant.hpp: random cases of constant.
#pragma once

#include <zrt/ops/constant.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Constant> {
  using Op = zrt::ops::Constant;
  static Typed<Op> make(Random& r, const Batch&) {
    Typed<Op> c;
    if (r.chance()) {
      const Value literal = plain(r, {}, r.chance() ? Shape{} : plain_shape(r, false));
      c.w[0] = {true, literal.type.dtype, literal.type.shape, literal.data};
      c.params.form = zrt::ops::ConstantForm::stored;
    } else {
      c.w[0] = r.chance() ? vector(r, r.between(1, 60)) : matrix(r, r.between(1, 9), any_width(r));
    }
    return c;
  }
  // A literal of any type and shape.
  static constexpr bool allows(const Mutation& m) { return m.kind != Mutation::missing; }
};

}  // namespace op_cases
