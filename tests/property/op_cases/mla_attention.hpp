// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/mla_attention.hpp: random cases of mla_attention.
#pragma once

#include <zrt/ops/mla_attention.hpp>

#include <property/op_cases/linear_heads.hpp>
#include <property/op_cases/rope.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::MlaAttention> {
  using Op = zrt::ops::MlaAttention;
  // As of multihead_attention: a key or value may lie at the border of two numbers of its page's type.
  static constexpr Tolerance tolerance{0, 8e-3};

  static Typed<Op> make(Random& r, const Batch& b) {
    using Heads = OpCases<zrt::ops::LinearHeads>;
    const std::uint32_t width = 32 * r.between(1, 3);
    const std::uint32_t nope = r.one_of({32u, r.between(2, 40)});
    Typed<Op> c;
    c.params.heads = r.between(1, 3);
    c.params.scale = 0.25f;
    c.params.kv = {1e-6f, r.one_of({32u, 64u, r.between(2, 60)}),
                   OpCases<zrt::ops::Rope>::params(r, 2 * r.between(1, 8))};
    const std::uint32_t key_dim = zrt::ops::MlaKvWrite::key_dim(c.params.kv);
    const std::uint32_t latent = c.params.kv.latent;
    const std::uint32_t value = r.chance() ? 32 : 64;
    c.in = {f32(r, b, Shape{kRows, width}), positions(b)};
    c.w[Op::norm] = maybe(r, vector(r, width));
    std::uint32_t query = width;
    if (r.chance()) {
      query = r.one_of({32u, r.between(2, 60)});
      c.w[Op::q_a] = matrix(r, query, width);
      c.w[Op::q_a_norm] = vector(r, query);
    }
    c.w[Op::q] = matrix(r, c.params.heads * (nope + c.params.kv.rope.head_dim), query);
    c.w[Op::kv] = matrix(r, key_dim, width);
    c.w[Op::kv_norm] = vector(r, latent);
    c.w[Op::k] = Heads::by_head(r, c.params.heads, latent, nope);
    c.w[Op::v] = Heads::by_head(r, c.params.heads, value, latent);
    c.w[Op::output] = matrix(r, width, c.params.heads * value);
    c.w[Op::factors] = OpCases<zrt::ops::Rope>::factors(r, c.params.kv.rope);
    c.state = kv_state(r, 1, key_dim, latent);
    return c;
  }
};

}  // namespace op_cases
