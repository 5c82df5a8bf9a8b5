// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/slice.hpp: random cases of slice.
#pragma once

#include <zrt/ops/slice.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Slice> {
  using Op = zrt::ops::Slice;
  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t last = r.between(1, 60);
    Typed<Op> c;
    c.params.start = r.between(0, last - 1);
    c.params.size = r.between(1, last - c.params.start);
    c.in[0] = f32(r, b, any_shape(r, last));
    return c;
  }
  // The window may fit another last axis, and elements are only moved.
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::dtype || m.kind == Mutation::more_axes; }
};

}  // namespace op_cases
