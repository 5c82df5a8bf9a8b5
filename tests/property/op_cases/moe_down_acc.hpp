// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/moe_down_acc.hpp: random cases of moe_down_acc.
#pragma once

#include <zrt/ops/moe_down_acc.hpp>

#include <property/op_cases/moe_gate_up.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::MoeDownAcc> {
  using Op = zrt::ops::MoeDownAcc;

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t inner = any_width(r);
    const std::uint32_t experts = r.between(1, 8);
    const std::uint32_t used = r.between(1, experts);
    const std::uint32_t outputs = r.one_of({1u, 16u, 24u, 40u});
    Typed<Op> c;
    c.in = {f32(r, b, Shape{kRows, used, inner}), chosen_experts(r, b, experts, used),
            f32(r, b, Shape{kRows, used}, 0.0f, 1.0f)};
    if (r.chance()) c.in[3] = f32(r, b, Shape{kRows, outputs});
    c.w = {expert_matrices(r, experts, outputs, inner), maybe(r, expert_vectors(r, experts, outputs)),
           maybe(r, vector(r, experts))};
    return c;
  }
};

}  // namespace op_cases
