// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/purity.hpp: which nodes are functions of their operands alone.
#pragma once

#include <zrt/ir/graph.hpp>
#include <zrt/ops/rng_normal.hpp>
#include <zrt/ops/rng_uniform.hpp>

namespace zrt::inline ZRT_ABI::ir {

/// Ops that draw random numbers: two of them are two draws, whatever their parameters.
inline constexpr OpSet kDraws = OpSet::of(boost::mp11::mp_list<ops::RngUniform, ops::RngNormal>{});

/// True when equal operands give equal results, so that a node may be merged with another or computed
/// ahead: no state, no regions, no draw, no overwritten input, and a meaning that the catalog knows.
[[nodiscard]] inline bool is_pure(const Graph& g, const OpTable& table, const Node& n) noexcept {
  const OpRow* row = table[number(n.opcode)];
  if (row == nullptr || n.state.present() || n.regions != 0 || kDraws.contains(n.opcode)) return false;
  if (!row->has_reference && !row->has_expansion) return false;
  for (std::uint32_t mark : g.node_in_place(n))
    if (mark != 0) return false;
  return true;
}

}  // namespace zrt::inline ZRT_ABI::ir
