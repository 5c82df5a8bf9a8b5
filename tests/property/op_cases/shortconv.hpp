// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/shortconv.hpp: random cases of shortconv.
#pragma once

#include <zrt/ops/shortconv.hpp>

#include <property/op_cases/ssm_conv1d.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Shortconv> {
  using Op = zrt::ops::Shortconv;

  static constexpr Tolerance tolerance{0, 1e-4};

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    const std::uint32_t width = any_width(r);
    const std::uint32_t channels = any_width(r);
    c.in[0] = f32(r, b, Shape{kRows, width});
    c.w[Op::norm] = maybe(r, vector(r, width));
    for (std::size_t i : {Op::b, Op::c, Op::x}) c.w[i] = matrix(r, channels, width);
    c.w[Op::conv] = OpCases<zrt::ops::SsmConv1d>::taps(r, channels);
    c.w[Op::conv_bias] = maybe(r, vector(r, channels));
    c.w[Op::output] = matrix(r, width, channels);
    c.params.conv = OpCases<zrt::ops::SsmConv1d>::params(r, c.w[Op::conv], 0, 0);
    c.state = zrt::recurrent_block(c.params.conv.state.total);
    return c;
  }
};

}  // namespace op_cases
