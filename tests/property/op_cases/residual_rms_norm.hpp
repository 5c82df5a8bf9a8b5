// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/residual_rms_norm.hpp: random cases of residual_rms_norm.
#pragma once

#include <zrt/ops/residual_rms_norm.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::ResidualRmsNorm> {
  using Op = zrt::ops::ResidualRmsNorm;
  // That of rms_norm on the sum; a residual_add has no expansion.
  static constexpr Tolerance tolerance{1e-6, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t dim = r.between(2, 150);
    const Shape shape = any_shape(r, dim * r.between(1, 2));
    Typed<Op> c;
    c.params = {{r.one_of({1.0f, 0.22f})}, {1e-5f, r.one_of({0.0f, 1.0f}), dim}};
    c.in = {f32(r, b, shape), f32(r, b, shape)};
    c.w[0] = maybe(r, vector(r, dim));
    return c;
  }
};

}  // namespace op_cases
