// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/layer_norm_runs.hpp: random cases of layer_norm_runs.
#pragma once

#include <zrt/ops/layer_norm_runs.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::LayerNormRuns> {
  using Op = zrt::ops::LayerNormRuns;
  // The same operations in the same order.
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t dim = r.between(2, 150);
    Typed<Op> c;
    c.params = {r.one_of({0.0f, 1e-6f, 1e-5f}), dim};
    c.in[0] = f32(r, b, any_shape(r, dim * r.between(1, 3)));
    c.w = {vector(r, dim), maybe(r, vector(r, dim))};
    return c;
  }
};

}  // namespace op_cases
