// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/gated_act.hpp: random cases of gated_act.
#pragma once

#include <zrt/ops/gated_act.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::GatedAct> {
  using Op = zrt::ops::GatedAct;
  // silu and the two gelus compose exp, erf or tanh (at most 3.1 units of the last place) with two to
  // five rounded steps; gelu and gelu_tanh cancel for negative x, where they stay within
  // 2.5 * 2^-24 * |x|.
  static constexpr Tolerance tolerance{1e-6, 2e-7};

  static Typed<Op> make(Random& r, const Batch& b) {
    using zrt::Activation;
    const Shape shape = any_shape(r, r.between(1, 100));
    Typed<Op> c;
    c.params = {r.one_of({Activation::none, Activation::silu, Activation::gelu, Activation::gelu_tanh,
                          Activation::relu2, Activation::relu, Activation::swiglu_oai})};
    c.in[0] = f32(r, b, shape, -8.0f, 8.0f);
    if (r.chance()) c.in[1] = f32(r, b, shape);
    return c;
  }
  // Alone, the gate may have any shape.
  static constexpr bool allows(const Mutation& m) {
    return m.index == 0 && (m.kind == Mutation::more_axes || m.kind == Mutation::no_axes);
  }
};

}  // namespace op_cases
