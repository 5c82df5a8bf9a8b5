// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/moe.hpp: random cases of moe.
#pragma once

#include <zrt/ops/moe.hpp>

#include <property/op_cases/moe_gate_topk.hpp>
#include <property/op_cases/moe_gate_up.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Moe> {
  using Op = zrt::ops::Moe;
  // The norm and the shared expert may be primitives: those of swiglu in every term of the last sum.
  static constexpr Tolerance tolerance{0, 2e-5};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t cols = any_width(r);
    const std::uint32_t experts = r.one_of({1u, 4u, 8u, 12u});
    const std::uint32_t inner = r.chance() ? 32 * r.between(1, 2) : r.between(1, 40);
    const std::uint32_t outputs = r.between(1, 40);
    Typed<Op> c;
    c.params.norm_weight_offset = r.one_of({0.0f, 1.0f});
    c.params.routing = any_routing(r, experts);
    c.params.gated = {any_activation(r)};
    c.params.fused = static_cast<std::uint8_t>(r.between(0, 1));
    c.in[0] = f32(r, b, Shape{kRows, cols});
    if (r.chance()) c.in[1] = f32(r, b, Shape{kRows, cols});
    c.w[Op::norm] = maybe(r, vector(r, cols));
    c.w[Op::router] = matrix(r, experts, cols);
    c.w[Op::router_bias] = maybe(r, vector(r, experts));
    c.w[Op::selection_bias] = maybe(r, vector(r, experts));
    c.w[Op::up] = expert_matrices(r, experts, c.params.fused != 0 ? 2 * inner : inner, cols);
    if (c.params.fused == 0) c.w[Op::gate] = maybe(r, expert_matrices(r, experts, inner, cols));
    if (c.params.fused != 0 || c.w[Op::gate].present) c.w[Op::gate_bias] = maybe(r, expert_vectors(r, experts, inner));
    c.w[Op::up_bias] = maybe(r, expert_vectors(r, experts, inner));
    c.w[Op::down] = expert_matrices(r, experts, outputs, inner);
    c.w[Op::down_bias] = maybe(r, expert_vectors(r, experts, outputs));
    c.w[Op::down_scale] = maybe(r, vector(r, experts));
    if (r.chance()) {
      const std::uint32_t shared = r.chance() ? 32 : r.between(1, 40);
      c.w[Op::shared_gate] = maybe(r, matrix(r, shared, cols));
      c.w[Op::shared_up] = matrix(r, shared, cols);
      c.w[Op::shared_down] = matrix(r, outputs, shared);
      c.w[Op::shared_router] = maybe(r, vector(r, cols));
    }
    return c;
  }
};

}  // namespace op_cases
