// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/attention.hpp: random cases of attention.
#pragma once

#include <zrt/ops/attention.hpp>

#include <limits>
#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Attention> {
  using Op = zrt::ops::Attention;
  // Other orders of the same sums; each row's weights sum to 1.
  static constexpr Tolerance tolerance{2e-6, 2e-6};

  static Typed<Op> make(Random& r, const Batch& b) {
    Shape lead;
    for (std::uint32_t axes = r.between(0, 2); axes > 0; --axes) lead = lead.appended(r.between(1, 3));
    // Past a step of keys, and past a segment of them.
    const std::uint32_t fixed = r.one_of({1u, 7u, 64u, 65u, 600u});
    const Dim keys = r.chance() ? kRows : Dim(fixed);
    const Dim queries = fixed != 600 && r.chance() ? keys : r.chance() ? kRows : Dim(r.between(1, 9));
    const std::uint32_t key_dim = r.between(1, 40);
    Typed<Op> c;
    c.params.scale = r.one_of({1.0f, 0.25f, -0.5f});
    c.params.causal = r.chance() ? 1 : 0;
    c.in[0] = f32(r, b, lead.appended(queries).appended(key_dim), -1.0f, 1.0f);
    c.in[1] = f32(r, b, lead.appended(keys).appended(key_dim), -1.0f, 1.0f);
    c.in[2] = f32(r, b, lead.appended(keys).appended(r.between(1, 40)));
    if (r.chance()) return c;
    Shape mask;
    for (std::size_t axis = r.between(0, lead.rank); axis < lead.rank; ++axis)
      mask = mask.appended(r.chance() ? lead[axis] : Dim(1));
    c.in[3] = f32(r, b, mask.appended(queries).appended(keys), -4.0f, 4.0f);
    // Hidden keys, but never the first, so that every query sees one.
    const std::size_t row = elements(Shape{keys}, b);
    for (std::size_t i = 0; i < c.in[3].data.size() / sizeof(float); ++i) {
      if (i % row == 0 || r.between(0, 3) != 0) continue;
      const float hidden = -std::numeric_limits<float>::infinity();
      std::memcpy(c.in[3].data.data() + i * sizeof(float), &hidden, sizeof(float));
    }
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.index == 3 && m.kind == Mutation::missing; }
};

}  // namespace op_cases
