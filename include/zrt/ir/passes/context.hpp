// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/context.hpp: what a pass over a graph may know, and what a pass is.
#pragma once

#include <zrt/ir/expand.hpp>
#include <zrt/ir/passes/evaluate.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

/// What the passes of one run share.
struct PassContext {
  Ops ops;
  OpSet claims;                               ///< ops that a pass may put into the graph: those that the backend runs
  const EvaluateTable* evaluators = nullptr;  ///< null: nothing is computed ahead
  std::uint64_t folded_bytes = std::uint64_t{64} << 20;  ///< the largest constant that folding may make
  FoldingBudget* budget = nullptr;  ///< what folding may take in all; null: each run of a pass has one of its own
};

/// Changes a graph, not its regions, into one that computes the same within the pass's stated bound; true
/// when it did change something. The graph is verified, and stays so.
using Pass = Result<bool> (*)(Graph& g, const PassContext& context) noexcept;

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
