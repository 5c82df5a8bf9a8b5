// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/kv_write_batched.hpp: random cases of kv_write_batched.
#pragma once

#include <zrt/ops/kv_write_batched.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::KvWriteBatched> {
  using Op = zrt::ops::KvWriteBatched;
  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.params = {r.between(1, 3), r.between(1, 40), r.between(1, 40)};
    const auto& p = c.params;
    c.in = {f32(r, b, Shape{kRows, p.kv_heads * p.key_dim}), f32(r, b, Shape{kRows, p.kv_heads * p.value_dim})};
    c.state = kv_state(r, p.kv_heads, p.key_dim, p.value_dim);
    return c;
  }
};

}  // namespace op_cases
