// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/flash_attn_varlen.hpp: random cases of flash_attn_varlen.
#pragma once

#include <zrt/ops/flash_attn_varlen.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::FlashAttnVarlen> {
  using Op = zrt::ops::FlashAttnVarlen;

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    auto& p = c.params;
    p.kv_heads = r.between(1, 2);
    p.heads = p.kv_heads * r.between(1, 3);
    p.key_dim = r.between(2, 40);
    p.value_dim = r.between(1, 40);
    p.scale = r.one_of({1.0f, 0.25f});
    p.reach = r.one_of({0u, 0u, 1u, 3u, 64u});
    c.in[0] = f32(r, b, Shape{kRows, p.heads * p.key_dim});
    c.in[1] = f32(r, b, Shape{kRows, p.kv_heads * p.key_dim});
    c.in[2] = f32(r, b, Shape{kRows, p.kv_heads * p.value_dim});
    if (r.chance()) {
      const std::uint32_t buckets = 4 * r.between(1, 8);
      p.max_distance = buckets / 4 + r.between(1, 100);
      c.w[0] = matrix(r, r.one_of({DType::f32, DType::f16, DType::bf16}), buckets, p.heads);
    }
    return c;
  }
};

}  // namespace op_cases
