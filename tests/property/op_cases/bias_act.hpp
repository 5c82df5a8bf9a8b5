// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/bias_act.hpp: random cases of bias_act.
#pragma once

#include <zrt/ops/bias_act.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::BiasAct> {
  using Op = zrt::ops::BiasAct;
  // Those of gated_act.
  static constexpr Tolerance tolerance{1e-6, 2e-7};

  static Typed<Op> make(Random& r, const Batch& b) {
    using zrt::Activation;
    const Shape shape =
        r.chance() ? any_shape(r, r.between(1, 100)) : Shape{kRows, r.between(0, 4), r.between(1, 7), r.between(0, 40)};
    Typed<Op> c;
    c.params.act = r.one_of({Activation::none, Activation::silu, Activation::gelu, Activation::gelu_tanh,
                             Activation::relu2, Activation::relu, Activation::swiglu_oai});
    c.params.axis = static_cast<std::uint8_t>(r.between(0, shape.rank - 1u));
    c.in[0] = f32(r, b, shape, -8.0f, 8.0f);
    c.in[1] = f32(r, b, Shape{shape[c.params.axis]});
    return c;
  }
  // x may have further axes behind the bias's.
  static constexpr bool allows(const Mutation& m) { return m.index == 0 && m.kind == Mutation::more_axes; }
};

}  // namespace op_cases
