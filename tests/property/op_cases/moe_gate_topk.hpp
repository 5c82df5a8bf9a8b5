// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/moe_gate_topk.hpp: random cases of moe_gate_topk.
#pragma once

#include <zrt/ops/moe_gate_topk.hpp>

#include <limits>
#include <property/op_cases/op_case.hpp>

namespace op_cases {

/// Any routing of so many experts.
inline zrt::ops::MoeGateTopkParams any_routing(Random& r, std::uint32_t experts) {
  zrt::ops::MoeGateTopkParams p;
  if (experts % 4 == 0 && r.chance()) {
    p.groups = r.one_of({1u, 2u, experts / 2});
    p.groups_used = r.between(1, p.groups);
  }
  p.used = r.between(1, std::min(experts / p.groups * p.groups_used, 10u));
  p.scale = r.one_of({1.0f, 2.5f});
  p.gating = static_cast<zrt::ops::Gating>(r.between(0, zrt::ops::kGatings - 1));
  p.normalise = static_cast<std::uint8_t>(r.between(0, 1));
  return p;
}

template <> struct OpCases<zrt::ops::MoeGateTopk> {
  using Op = zrt::ops::MoeGateTopk;

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t cols = any_width(r);
    const std::uint32_t experts = r.one_of({1u, 4u, 7u, 32u, 40u, 129u});
    Typed<Op> c;
    c.params = any_routing(r, experts);
    c.in[0] = f32(r, b, Shape{kRows, cols});
    c.w = {matrix(r, experts, cols), maybe(r, vector(r, experts)), maybe(r, vector(r, experts))};
    // Rows that are the same give the same score, but for the biases: the smaller id goes first.
    const std::size_t row = c.w[0].data.size() / experts;
    if (r.chance())
      for (std::uint32_t e = 1; e < experts; e += 2)
        std::memcpy(c.w[0].data.data() + e * row, c.w[0].data.data() + (e - 1) * row, row);
    // A row of no numbers is no fault.
    if (r.between(0, 3) == 0) {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      std::memcpy(c.in[0].data.data(), &nan, sizeof nan);
    }
    return c;
  }
};

}  // namespace op_cases
