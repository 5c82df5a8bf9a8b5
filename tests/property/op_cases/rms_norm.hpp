// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/rms_norm.hpp: random cases of rms_norm.
#pragma once

#include <zrt/ops/rms_norm.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::RmsNorm> {
  using Op = zrt::ops::RmsNorm;
  // The expansion rounds each square before the sum and the scale twice; the root halves what the sum
  // gathers. 150 elements stay below 3e-7.
  static constexpr Tolerance tolerance{1e-6, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t dim = r.between(2, 150);
    Typed<Op> c;
    c.params = {r.one_of({0.0f, 1e-6f, 1e-5f}), r.one_of({0.0f, 1.0f}), dim};
    c.in[0] = f32(r, b, any_shape(r, dim * r.between(1, 3)));
    c.w[0] = maybe(r, vector(r, dim));
    return c;
  }
};

}  // namespace op_cases
