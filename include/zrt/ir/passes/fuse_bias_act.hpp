// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/fuse_bias_act.hpp: a bias along one axis and the activation behind it become one op.
#pragma once

#include <zrt/ir/passes/pattern.hpp>
#include <zrt/ops/bias_act.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

/// Replaces an activation of a sum with a vector along one axis by bias_act. The vector may be data of the step; one
/// that linear takes as its bias is no sum any more. The same bits.
[[nodiscard]] inline Result<bool> fuse_bias_act(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    const auto act = r.params<ops::GatedAct>(node);
    if (!act || !r.claims(ops::BiasAct::opcode)) return {};
    Pattern p(r, node);
    const auto in = p.graph().node_inputs(p.graph().nodes[node]);
    if (in[1] != kNone) return {};
    std::uint32_t x = 0;
    std::uint32_t bias = 0;
    std::size_t axis = p.type(p.result()).shape.rank;
    const bool found = p.commutes(in[0], ops::BinaryKind::add, [&](std::uint32_t a, std::uint32_t b) {
      x = a;
      for (axis = p.type(b).shape.rank; axis-- > 0;)
        if (p.spread_along(b, axis, bias)) return true;
      return false;
    });
    if (!found || !p.closed()) return {};
    if (p.type(bias).shape.rank != 1) {
      const Shape line{p.type(x).shape[axis]};
      const auto flat = r.insert<ops::Reshape>(node, {bias}, {}, {ShapeParams::of(line)});
      if (!flat) return pass(flat);
      if (!flat->present()) return {};
      bias = flat->index;
    }
    const auto done = r.replace<ops::BiasAct>(node, {x, bias}, {}, {act->act, static_cast<std::uint8_t>(axis)});
    return done ? Result<void>() : pass(done);
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
