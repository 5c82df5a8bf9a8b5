// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/merged_rows.hpp: random cases of the ops that pass rows side by side through an MLP.
#pragma once

#include <zrt/ops/merged_rows.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <class Op> struct MergedRowsCases {
  // That of two projections, the second of which reads what the first has made.
  static constexpr Tolerance tolerance{0, 8e-6};

  /// `together`: the norm reads the rows that become one as one.
  static Typed<Op> make(Random& r, const Batch& b, bool together) {
    using zrt::Activation;
    const std::uint32_t rows = r.between(1, 4), width = r.between(2, 40), wide = rows * width;
    const std::uint32_t run = together ? wide : width, inner = r.chance() ? 32 * r.between(1, 2) : r.between(1, 40);
    const std::uint32_t out = r.between(1, 40);
    Typed<Op> c;
    c.params = {.norm_eps = 1e-5f, .rows = rows, .gated = {r.one_of({Activation::gelu, Activation::gelu_tanh})}};
    c.in[0] = f32(r, b, Shape{Dim(rows, kTokens), width});
    c.w = {vector(r, run),        maybe(r, vector(r, run)), matrix(r, inner, wide), maybe(r, vector(r, inner)),
           matrix(r, out, inner), maybe(r, vector(r, out))};
    return c;
  }
};

}  // namespace op_cases
