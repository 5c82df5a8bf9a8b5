// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/rng_normal.hpp: random cases of rng_normal.
#pragma once

#include <zrt/ops/rng_normal.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::RngNormal> {
  using Op = zrt::ops::RngNormal;
  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.params.seed = r.between(0, 0xfffffffeu) * std::uint64_t{0x100000001};
    c.params.stream = r.between(0, 3);
    c.params.shape = zrt::ShapeParams::of(plain_shape(r));
    c.params.dtype = float_type(r);
    if (r.chance()) return c;
    c.in[0] = plain(r, b, Shape{}, DType::si64);
    c.params.seed = 0;
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::missing; }
};

}  // namespace op_cases
