// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/dot_general.hpp: random cases of dot_general.
#pragma once

#include <zrt/ops/dot_general.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::DotGeneral> {
  using Op = zrt::ops::DotGeneral;
  // Batched matrices [batch, rows, k] and [batch, n, k], or plain ones.
  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t k = r.between(1, 70);
    const std::uint32_t n = r.between(1, 9);
    Typed<Op> c;
    c.params.contract_count = 1;
    if (r.chance()) {
      const std::uint32_t batch = r.between(1, 3);
      c.params.batch_count = 1;
      c.params.contract_lhs[0] = 2;
      c.params.contract_rhs[0] = 2;
      c.in = {f32(r, b, Shape{batch, kRows, k}), f32(r, b, Shape{batch, n, k})};
    } else {
      c.params.contract_lhs[0] = 1;
      c.in = {f32(r, b, Shape{kRows, k}), f32(r, b, Shape{k, n})};
    }
    return c;
  }
  // One more axis is one more free axis.
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::more_axes; }
};

}  // namespace op_cases
