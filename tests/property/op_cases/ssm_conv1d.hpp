// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/ssm_conv1d.hpp: random cases of ssm_conv1d.
#pragma once

#include <zrt/ops/ssm_conv1d.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::SsmConv1d> {
  using Op = zrt::ops::SsmConv1d;

  static Stored taps(Random& r, std::uint32_t channels) { return matrix(r, DType::f32, channels, r.between(2, 5)); }
  /// Parameters for `weight`, whose rows lie `first` floats into a block of `after` more than they need.
  static zrt::ops::SsmConv1dParams params(Random& r, const Stored& weight, std::uint32_t first, std::uint32_t after) {
    const std::uint32_t rows = weight.shape[0].extent * (weight.shape[1].extent - 1);
    return {{first, first + rows + after}, r.one_of({zrt::Activation::none, zrt::Activation::silu}), {}};
  }

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    const std::uint32_t channels = r.between(1, 70);
    c.w = {taps(r, channels), maybe(r, vector(r, channels))};
    if (r.chance()) c.w[0] = matrix(r, DType::f32, channels, r.between(6, Op::kMaxTaps));
    c.params = params(r, c.w[0], r.between(0, 5), r.between(0, 5));
    c.in[0] = f32(r, b, Shape{kRows, channels});
    c.state = zrt::recurrent_block(c.params.state.total);
    return c;
  }
};

}  // namespace op_cases
