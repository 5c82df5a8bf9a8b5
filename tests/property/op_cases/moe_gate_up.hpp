// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/moe_gate_up.hpp: random cases of moe_gate_up.
#pragma once

#include <zrt/ops/moe_gate_up.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

/// Ids of `used` of so many experts for each row, ascending.
inline Value chosen_experts(Random& r, const Batch& b, std::uint32_t experts, std::uint32_t used) {
  std::vector<std::int32_t> ids, all(experts);
  std::iota(all.begin(), all.end(), 0);
  for (std::uint32_t t = 0; t < b.tokens(); ++t) {
    std::shuffle(all.begin(), all.end(), r.engine());
    ids.insert(ids.end(), all.begin(), all.begin() + used);
    std::sort(ids.end() - used, ids.end());
  }
  return {true, {DType::si32, Shape{kRows, used}}, bytes_of(ids)};
}

/// A matrix of any type for each expert.
inline Stored expert_matrices(Random& r, std::uint32_t experts, std::uint32_t rows, std::uint32_t cols) {
  Stored w = matrix(r, experts * rows, cols);
  w.shape = Shape{experts, rows, cols};
  return w;
}
inline Stored expert_vectors(Random& r, std::uint32_t experts, std::uint32_t size) {
  Stored w = vector(r, experts * size);
  w.shape = Shape{experts, size};
  return w;
}

inline zrt::Activation any_activation(Random& r) {
  return static_cast<zrt::Activation>(r.between(1, zrt::kActivations - 1u));
}

template <> struct OpCases<zrt::ops::MoeGateUp> {
  using Op = zrt::ops::MoeGateUp;

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t cols = any_width(r);
    const std::uint32_t experts = r.between(1, 8);
    const std::uint32_t inner = r.one_of({1u, 16u, 24u, 40u});
    Typed<Op> c;
    c.params.gated = {any_activation(r)};
    c.params.fused = static_cast<std::uint8_t>(r.between(0, 1));
    c.in = {f32(r, b, Shape{kRows, cols}), chosen_experts(r, b, experts, r.between(1, experts))};
    c.w[Op::up] = expert_matrices(r, experts, c.params.fused != 0 ? 2 * inner : inner, cols);
    if (c.params.fused == 0) c.w[Op::gate] = maybe(r, expert_matrices(r, experts, inner, cols));
    if (c.params.fused != 0 || c.w[Op::gate].present) c.w[Op::gate_bias] = maybe(r, expert_vectors(r, experts, inner));
    c.w[Op::up_bias] = maybe(r, expert_vectors(r, experts, inner));
    return c;
  }
};

}  // namespace op_cases
