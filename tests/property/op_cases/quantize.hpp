// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/quantize.hpp: random cases of quantize.
#pragma once

#include <zrt/ops/quantize.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Quantize> {
  using Op = zrt::ops::Quantize;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = plain_shape(r);
    Typed<Op> c;
    c.params.output_dtype = integer_type(r);
    c.params.per_axis = static_cast<std::uint8_t>(r.between(0, 1));
    Shape channels;
    if (c.params.per_axis != 0) {
      c.params.axis = static_cast<std::uint8_t>(r.between(0, shape.rank - 1u));
      channels = Shape{shape[c.params.axis]};
    }
    c.in[0] = plain(r, b, shape, float_type(r));
    c.in[1] = f32(r, b, channels, 0.01f, 2.0f);
    c.in[2] = si32(r, b, channels, 0, 40);
    return c;
  }
  // The scales of a whole tensor do not know its axes.
  static constexpr bool allows(const Mutation& m) {
    return m.index == 0 && (m.kind == Mutation::more_axes || m.kind == Mutation::no_axes || m.kind == Mutation::dtype);
  }
};

}  // namespace op_cases
