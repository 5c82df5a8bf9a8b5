// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/rms_norm_fused_mlp_gate_up.hpp: random cases of rms_norm_fused_mlp_gate_up.
#pragma once

#include <zrt/ops/rms_norm_fused_mlp_gate_up.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::RmsNormFusedMlpGateUp> {
  using Op = zrt::ops::RmsNormFusedMlpGateUp;
  // That of rms_norm_fused_qkv for gate and up, doubled by the square of relu2.
  static constexpr Tolerance tolerance{0, 4e-6};

  static Typed<Op> make(Random& r, const Batch& b) {
    using zrt::Activation;
    const std::uint32_t cols = any_width(r);
    const std::uint32_t rows = r.between(1, 40);
    Typed<Op> c;
    c.params.norm = {1e-5f, r.one_of({0.0f, 1.0f}), cols};
    c.params.gated = {r.one_of({Activation::silu, Activation::gelu, Activation::gelu_tanh, Activation::relu2,
                                Activation::relu, Activation::swiglu_oai})};
    c.in[0] = f32(r, b, Shape{kRows, cols});
    c.w = {vector(r, cols), matrix(r, rows, cols), matrix(r, rows, cols), maybe(r, vector(r, rows)),
           maybe(r, vector(r, rows))};
    return c;
  }
};

}  // namespace op_cases
