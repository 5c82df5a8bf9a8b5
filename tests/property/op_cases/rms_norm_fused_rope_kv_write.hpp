// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/rms_norm_fused_rope_kv_write.hpp: random cases of rms_norm_fused_rope_kv_write.
#pragma once

#include <zrt/ops/rms_norm_fused_rope_kv_write.hpp>

#include <property/op_cases/rope.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::RmsNormFusedRopeKvWrite> {
  using Op = zrt::ops::RmsNormFusedRopeKvWrite;
  // Those of rope and of rms_norm.
  static constexpr Tolerance tolerance{0, 1.4e-4};

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    const std::uint32_t key_dim = r.between(2, 40);
    c.params = {1e-6f,
                r.one_of({0.0f, 1.0f}),
                {r.between(1, 2), key_dim, r.between(1, 40)},
                OpCases<zrt::ops::Rope>::params(r, key_dim)};
    const auto& kv = c.params.kv;
    c.in = {f32(r, b, Shape{kRows, kv.kv_heads * r.between(1, 3) * key_dim}),
            f32(r, b, Shape{kRows, kv.kv_heads * key_dim}), f32(r, b, Shape{kRows, kv.kv_heads * kv.value_dim}),
            other_positions(r, b)};
    c.w = {maybe(r, vector(r, key_dim)), maybe(r, vector(r, key_dim)),
           OpCases<zrt::ops::Rope>::factors(r, c.params.rope)};
    c.state = kv_state(r, kv.kv_heads, key_dim, kv.value_dim);
    return c;
  }
};

}  // namespace op_cases
