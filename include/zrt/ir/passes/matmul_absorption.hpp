// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/matmul_absorption.hpp: a product reads a matrix as it lies instead of its transpose.
#pragma once

#include <zrt/ir/passes/pattern.hpp>
#include <zrt/ops/dot_general.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// True when `t` changes over the last two axes and no other.
[[nodiscard]] constexpr bool swaps_last_two(const ops::TransposeParams& t) noexcept {
  if (t.rank < 2) return false;
  for (std::size_t axis = 0; axis + 2 < t.rank; ++axis)
    if (t.perm[axis] != axis) return false;
  return t.perm[t.rank - 2u] == t.rank - 1u && t.perm[t.rank - 1u] == t.rank - 2u;
}

}  // namespace detail

/// Lets dot_general contract and batch over other axes where an operand is a matrix, or a batch of them,
/// whose last two axes were changed over. The same bits. Goes before folding, which would write out the
/// transpose of a constant.
[[nodiscard]] inline Result<bool> absorb_into_matmul(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    auto dot = r.params<ops::DotGeneral>(node);
    if (!dot) return {};
    const auto in = r.graph().node_inputs(r.graph().nodes[node]);
    std::array<std::uint32_t, 2> operand{in[0], in[1]};
    bool absorbed = false;
    for (std::size_t side = 0; side < 2; ++side) {
      const std::uint32_t maker = r.producer(operand[side]);
      const auto transpose = r.params<ops::Transpose>(maker);
      if (!transpose || !detail::swaps_last_two(*transpose)) continue;
      auto& batch = side == 0 ? dot->batch_lhs : dot->batch_rhs;
      auto& contract = side == 0 ? dot->contract_lhs : dot->contract_rhs;
      // With both axes free the result's would change places.
      const auto last = static_cast<std::uint8_t>(transpose->rank - 1);
      const auto before = static_cast<std::uint8_t>(last - 1);
      if (!ops::DotGeneral::listed(*dot, side == 0, last) && !ops::DotGeneral::listed(*dot, side == 0, before))
        continue;
      for (std::uint32_t i = 0; i < dot->batch_count; ++i) batch[i] = transpose->perm[batch[i]];
      for (std::uint32_t i = 0; i < dot->contract_count; ++i) contract[i] = transpose->perm[contract[i]];
      operand[side] = r.graph().node_inputs(r.graph().nodes[maker])[0];
      absorbed = true;
    }
    if (!absorbed) return {};
    const auto done = r.replace<ops::DotGeneral>(node, {operand[0], operand[1]}, {}, *dot);
    return done ? Result<void>() : pass(done);
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
