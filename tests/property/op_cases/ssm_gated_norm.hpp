// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/ssm_gated_norm.hpp: random cases of ssm_gated_norm.
#pragma once

#include <zrt/ops/ssm_gated_norm.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::SsmGatedNorm> {
  using Op = zrt::ops::SsmGatedNorm;

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    const std::uint32_t dim = r.between(2, 150);
    const std::uint32_t runs = r.between(1, 3);
    c.params = {r.one_of({1e-6f, 1e-5f}), dim, static_cast<std::uint8_t>(r.between(0, 1)), {}};
    const Shape shape = any_shape(r, dim * runs);
    c.in = {f32(r, b, shape), f32(r, b, shape)};
    c.w[0] = vector(r, dim);
    if (r.chance()) {
      c.w[0] = vector(r, dim * runs);
      c.w[0].shape = Shape{runs, dim};
    }
    return c;
  }
};

}  // namespace op_cases
