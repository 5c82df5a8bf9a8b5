// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/multihead_attention.hpp: random cases of multihead_attention.
#pragma once

#include <zrt/ops/multihead_attention.hpp>

#include <property/op_cases/flash_attn_batched.hpp>
#include <property/op_cases/rope.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::MultiheadAttention> {
  using Op = zrt::ops::MultiheadAttention;
  // Those of rms_norm_fused_rope_kv_write, unless a key or value lies at the border of two numbers of
  // its page's type, which are up to 2^-7 apart.
  static constexpr Tolerance tolerance{0, 8e-3};

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    auto& a = c.params.attention;
    a = OpCases<zrt::ops::FlashAttnBatched>::params(r);
    a.scale = 0.05f;
    c.params.rope = OpCases<zrt::ops::Rope>::params(r, a.key_dim);
    const std::uint32_t width = any_width(r);
    c.in = {f32(r, b, Shape{kRows, width}), positions(b)};
    const std::uint32_t rows[] = {a.heads * a.key_dim, a.kv_heads * a.key_dim, a.kv_heads * a.value_dim, width};
    c.w[Op::norm] = maybe(r, vector(r, width));
    for (std::size_t i = 0; i < 4; ++i) {
      c.w[Op::q + i] = matrix(r, rows[i], i == 3 ? a.heads * a.value_dim : width);
      c.w[Op::q_bias + i] = maybe(r, vector(r, rows[i]));
    }
    c.w[Op::q_norm] = maybe(r, vector(r, a.key_dim));
    c.w[Op::k_norm] = maybe(r, vector(r, a.key_dim));
    c.w[Op::factors] = OpCases<zrt::ops::Rope>::factors(r, c.params.rope);
    c.w[Op::sinks] = maybe(r, vector(r, a.heads));
    c.state = kv_state(r, a.kv_heads, a.key_dim, a.value_dim);
    return c;
  }
};

}  // namespace op_cases
