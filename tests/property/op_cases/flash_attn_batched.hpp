// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/flash_attn_batched.hpp: random cases of flash_attn_batched.
#pragma once

#include <zrt/ops/flash_attn_batched.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::FlashAttnBatched> {
  using Op = zrt::ops::FlashAttnBatched;
  static zrt::ops::FlashAttnBatchedParams params(Random& r) {
    zrt::ops::FlashAttnBatchedParams p;
    p.kv_heads = r.between(1, 2);
    p.heads = p.kv_heads * r.between(1, 5);
    p.key_dim = r.between(2, 40);
    p.value_dim = r.chance() ? r.between(1, 40) : r.between(60, 140);
    p.scale = r.one_of({1.0f, 0.25f});
    p.soft_cap = r.one_of({0.0f, 20.0f});
    p.window = r.one_of({0u, 0u, 1u, 40u, 64u, 600u});
    if (p.window == 0) p.chunk = r.one_of({0u, 1u, 16u, 40u, 600u});
    return p;
  }

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.params = params(r);
    c.in[0] = f32(r, b, Shape{kRows, c.params.heads * c.params.key_dim});
    c.w[0] = maybe(r, vector(r, c.params.heads));
    c.state = kv_state(r, c.params.kv_heads, c.params.key_dim, c.params.value_dim);
    return c;
  }
};

}  // namespace op_cases
