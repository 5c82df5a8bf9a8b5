// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/ssm_delta_net.hpp: random cases of ssm_delta_net.
#pragma once

#include <zrt/ops/ssm_delta_net.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::SsmDeltaNet> {
  using Op = zrt::ops::SsmDeltaNet;

  static zrt::ops::SsmDeltaNetParams params(Random& r, std::uint32_t first, std::uint32_t after) {
    zrt::ops::SsmDeltaNetParams p;
    p.key_heads = r.between(1, 3);
    p.value_heads = p.key_heads * r.between(1, 3);
    p.key_dim = r.between(1, 40);
    p.value_dim = r.one_of({16u, 64u, 128u, r.between(1, 90)});
    p.norm_eps = r.one_of({1e-6f, 4.0f});
    p.alternates = r.chance() ? 1 : 0;
    p.state = {first, first + p.value_heads * p.key_dim * p.value_dim + after};
    return p;
  }

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.params = params(r, r.between(0, 5), r.between(0, 5));
    const auto& p = c.params;
    const bool apart = r.chance();
    c.in[0] = f32(r, b, Shape{kRows, static_cast<std::uint32_t>(p.columns())});
    c.in[1] = f32(r, b, Shape{kRows, (apart ? 1 : 2) * p.value_heads});
    if (apart) c.in[2] = f32(r, b, Shape{kRows, p.value_heads});
    c.w = {vector(r, p.value_heads, -2.0f, -0.1f), vector(r, p.value_heads)};
    c.state = zrt::recurrent_block(p.state.total);
    return c;
  }
};

}  // namespace op_cases
