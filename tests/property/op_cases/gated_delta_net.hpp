// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/gated_delta_net.hpp: random cases of gated_delta_net.
#pragma once

#include <zrt/ops/gated_delta_net.hpp>

#include <property/op_cases/ssm_conv1d.hpp>
#include <property/op_cases/ssm_delta_net.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::GatedDeltaNet> {
  using Op = zrt::ops::GatedDeltaNet;

  static constexpr Tolerance tolerance{0, 1e-3};

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    const std::uint32_t width = any_width(r);
    zrt::ops::SsmDeltaNetParams delta = OpCases<zrt::ops::SsmDeltaNet>::params(r, 0, 0);
    const auto channels = static_cast<std::uint32_t>(delta.columns());
    const std::uint32_t values = delta.value_heads * delta.value_dim;
    const bool apart = r.chance();
    c.in[0] = f32(r, b, Shape{kRows, width});
    c.w[Op::norm] = maybe(r, vector(r, width));
    c.w[Op::qkv] = matrix(r, channels, width);
    c.w[Op::z] = matrix(r, values, width);
    c.w[Op::conv] = OpCases<zrt::ops::SsmConv1d>::taps(r, channels);
    c.w[Op::conv_bias] = maybe(r, vector(r, channels));
    c.w[Op::dt_bias] = vector(r, delta.value_heads);
    c.w[Op::a] = vector(r, delta.value_heads, -2.0f, -0.1f);
    c.w[Op::beta] = matrix(r, (apart ? 1 : 2) * delta.value_heads, width);
    if (apart) c.w[Op::alpha] = matrix(r, delta.value_heads, width);
    c.w[Op::gated_norm] = vector(r, delta.value_dim);
    c.w[Op::output] = matrix(r, width, values);
    c.params.gated = {1e-6f, delta.value_dim, static_cast<std::uint8_t>(r.between(0, 1)), {}};
    c.params.conv = OpCases<zrt::ops::SsmConv1d>::params(r, c.w[Op::conv], 0, 0);
    const std::uint32_t tail = c.params.conv.state.total;
    delta.state.first = tail;
    delta.state.total = c.params.conv.state.total = tail + delta.state.total;
    c.params.delta = delta;
    c.state = zrt::recurrent_block(delta.state.total);
    return c;
  }
};

}  // namespace op_cases
