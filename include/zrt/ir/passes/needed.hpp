// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/needed.hpp: which nodes of a graph somebody needs.
#pragma once

#include <zrt/ir/graph.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

/// Marks the nodes whose results or state somebody needs: 1 for each of them.
[[nodiscard]] inline Result<Vector<std::uint8_t>> needed_nodes(const Graph& g) noexcept {
  Vector<std::uint8_t> node(g.allocator);
  Vector<std::uint8_t> value(g.allocator);
  if (auto r = node.resize(g.nodes.size()); !r) return pass(r);
  if (auto r = value.resize(g.values.size()); !r) return pass(r);
  for (const Port& port : g.outputs) value[port.value.index] = 1;
  for (std::size_t i = g.nodes.size(); i-- > 0;) {
    const Node& n = g.nodes[i];
    bool keep = n.state.present();
    for (std::uint32_t v : g.node_outputs(n)) keep = keep || value[v] != 0;
    if (!keep) continue;
    node[i] = 1;
    for (std::uint32_t v : g.node_inputs(n))
      if (v != kNone) value[v] = 1;
  }
  return node;
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
