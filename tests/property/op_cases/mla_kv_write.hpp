// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/mla_kv_write.hpp: random cases of mla_kv_write.
#pragma once

#include <zrt/ops/mla_kv_write.hpp>

#include <property/op_cases/rope.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::MlaKvWrite> {
  using Op = zrt::ops::MlaKvWrite;

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.params = {r.one_of({1e-6f, 1e-5f}), r.between(1, 70), OpCases<zrt::ops::Rope>::params(r, r.between(2, 40))};
    const std::uint32_t key_dim = Op::key_dim(c.params);
    c.in = {f32(r, b, Shape{kRows, key_dim}), positions(b)};
    c.w = {vector(r, c.params.latent), OpCases<zrt::ops::Rope>::factors(r, c.params.rope)};
    c.state = kv_state(r, 1, key_dim, c.params.latent);
    return c;
  }
};

}  // namespace op_cases
