// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/reduce.hpp: random cases of reduce.
#pragma once

#include <zrt/ops/reduce.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Reduce> {
  using Op = zrt::ops::Reduce;
  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.params = {static_cast<zrt::ops::ReduceKind>(r.between(0, zrt::ops::kReduceKinds - 1)),
                static_cast<std::uint8_t>(r.between(0, 1))};
    c.in[0] = f32(r, b, any_shape(r, r.between(1, 200)));
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::more_axes; }
};

}  // namespace op_cases
