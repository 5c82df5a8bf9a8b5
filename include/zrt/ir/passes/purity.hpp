// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/purity.hpp: which nodes are functions of their operands alone.
#pragma once

#include <zrt/ir/graph.hpp>
#include <zrt/ops/rng_normal.hpp>
#include <zrt/ops/rng_uniform.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

/// Ops that draw random numbers. Their numbers follow from seed, stream and index, so that merging or folding them would
/// give the same; they stay as they are written, each a draw of its own that a reader of the plan finds again.
inline constexpr OpSet kDraws = OpSet::of(boost::mp11::mp_list<ops::RngUniform, ops::RngNormal>{});

/// True when equal operands give equal results, so that a node may be merged with another or computed
/// ahead: no state, no regions, no draw, no overwritten input, and a meaning that the catalog knows, which a call that the
/// host defines has not.
[[nodiscard]] inline bool is_pure(const Graph& g, const OpTable& table, const Node& n) noexcept {
  const OpRow* row = table[number(n.opcode)];
  if (row == nullptr || n.state.present() || n.regions != 0 || kDraws.contains(n.opcode)) return false;
  if (!row->has_reference && !row->has_expansion) return false;
  for (std::uint32_t mark : g.node_in_place(n))
    if (mark != 0) return false;
  return true;
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
