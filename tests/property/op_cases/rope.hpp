// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/rope.hpp: random cases of rope.
#pragma once

#include <zrt/ops/rope.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Rope> {
  using Op = zrt::ops::Rope;
  // With factors or a scaling the expansion's frequency may be the neighbouring f32, which moves an
  // angle of up to 1035 by 2^-23 of itself; the rotation's own rounding is 2^-23.
  static constexpr Tolerance tolerance{0, 1.3e-4};

  static zrt::ops::RopeParams params(Random& r, std::uint32_t head_dim) {
    using zrt::ops::RopeScaling;
    using zrt::ops::RopeStyle;
    zrt::ops::RopeParams p;
    p.head_dim = head_dim;
    p.n_rot = 2 * r.between(0, head_dim / 2);
    p.base = r.one_of({10000.0f, 500000.0f, 1000000.0f});
    p.factor = r.one_of({1.0f, 4.0f, 8.0f});
    p.magnitude = r.one_of({1.0f, 1.1f});
    p.original_context = 512;
    p.style = r.one_of({RopeStyle::interleaved, RopeStyle::neox});
    p.scaling = r.one_of({RopeScaling::none, RopeScaling::linear, RopeScaling::yarn});
    return p;
  }
  static Stored factors(Random& r, const zrt::ops::RopeParams& p) {
    return p.n_rot == 0 ? Stored{} : maybe(r, vector(r, p.n_rot / 2, 1.0f, 8.0f));
  }

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t head_dim = r.between(2, 70);
    Typed<Op> c;
    c.params = params(r, head_dim);
    c.in = {f32(r, b, Shape{kRows, head_dim * r.between(1, 3)}), other_positions(r, b)};
    c.w[0] = factors(r, c.params);
    return c;
  }
};

}  // namespace op_cases
