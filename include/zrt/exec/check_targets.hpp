// SPDX-License-Identifier: Apache-2.0
// zrt/exec/check_targets.hpp: whether a backend has the target of every custom call of a graph.
#pragma once

#include <zrt/exec/adapter_table.hpp>
#include <zrt/ir/graph.hpp>
#include <zrt/ops/custom_call.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// B's adapter of custom calls can say before it binds one whether there is the target.
template <class B>
concept KnowsTargets = requires(const ops::CustomCallParams& params) {
  { Adapter<B, ops::CustomCall>::check_target(params) } noexcept -> std::same_as<Result<void>>;
};

/// Checks the custom calls of a graph, in its regions too, before passes drop those that nobody reads.
///
/// Errors: Errc::unimplemented naming target and backend, with the node of the graph.
template <class B> [[nodiscard]] Result<void> check_targets(const ir::Graph& graph) noexcept {
  if constexpr (KnowsTargets<B>) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const ir::Node& n = graph.nodes[i];
      Result<void> found;
      if (n.opcode == ops::CustomCall::opcode)
        if (const auto params = decode_params<ops::CustomCall>(graph.node_params(n)); params)
          found = Adapter<B, ops::CustomCall>::check_target(*params);
      for (const std::uint32_t region : graph.node_regions(n))
        if (found) found = check_targets<B>(graph.regions[region]);
      if (found) continue;
      Error error = found.error();
      return std::unexpected<Error>(
          error.in_phase(Phase::graph).at_instruction(static_cast<std::uint32_t>(i), number(n.opcode)));
    }
  }
  return {};
}

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
