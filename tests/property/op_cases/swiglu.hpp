// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/swiglu.hpp: random cases of swiglu.
#pragma once

#include <zrt/ops/swiglu.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Swiglu> {
  using Op = zrt::ops::Swiglu;
  // That of rms_norm_fused_mlp_gate_up in every term of the last sum.
  static constexpr Tolerance tolerance{0, 8e-6};

  static Typed<Op> make(Random& r, const Batch& b) {
    using zrt::Activation;
    const std::uint32_t cols = any_width(r);
    const std::uint32_t inner = r.chance() ? 32 * r.between(1, 2) : r.between(1, 40);
    Typed<Op> c;
    c.params.norm_weight_offset = r.one_of({0.0f, 1.0f});
    c.params.gated = {r.one_of({Activation::silu, Activation::gelu, Activation::gelu_tanh, Activation::relu2,
                                Activation::relu, Activation::swiglu_oai})};
    c.in[0] = f32(r, b, Shape{kRows, cols});
    const std::uint32_t rows = r.between(1, 40);
    c.w = {maybe(r, vector(r, cols)), maybe(r, matrix(r, inner, cols)), matrix(r, inner, cols), matrix(r, rows, inner)};
    if (c.w[Op::gate].present) c.w[Op::gate_bias] = maybe(r, vector(r, inner));
    c.w[Op::up_bias] = maybe(r, vector(r, inner));
    c.w[Op::down_bias] = maybe(r, vector(r, rows));
    return c;
  }
};

}  // namespace op_cases
