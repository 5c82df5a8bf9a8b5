// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/call_elementary.hpp: calls of functions that a primitive has become that primitive.
#pragma once

#include <zrt/ir/passes/rewriter.hpp>
#include <zrt/ops/custom_call.hpp>
#include <zrt/ops/element_chain.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

/// Replaces the sine, the cosine and the power that ONNX files call by elementwise_unary and elementwise_binary where
/// all is f32: computed in f32, a few units in the last place from what the calls give, which compute in f64.
[[nodiscard]] inline Result<bool> call_elementary(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    const auto call = r.params<ops::CustomCall>(node);
    if (!call) return {};
    const auto in = r.graph().node_inputs(r.graph().nodes[node]);
    const auto out = r.graph().node_outputs(r.graph().nodes[node]);
    if (in.empty() || in.size() > 2 || out.size() != 1) return {};
    for (const std::uint32_t operand : in)
      if (operand == kNone || r.type(operand).dtype != DType::f32 || !(r.type(operand) == r.type(out[0]))) return {};
    // These targets have no attributes: a call with some is refused where it is bound.
    for (const std::uint32_t attributes : r.graph().node_weights(r.graph().nodes[node]))
      if (attributes != kNone) return {};
    std::array<char, ops::CustomCallParams::kMaxTarget> storage{};
    const std::string_view name = call->name(storage);
    Result<bool> done = false;
    if (in.size() == 1 && (name == "zrt.onnx.sin.v1" || name == "zrt.onnx.cos.v1")) {
      const ops::UnaryKind kind = name == "zrt.onnx.sin.v1" ? ops::UnaryKind::sin : ops::UnaryKind::cos;
      done = r.replace<ops::ElementwiseUnary>(node, {in[0]}, {}, {kind}, true);
    } else if (in.size() == 2 && name == "zrt.onnx.pow.v1" && r.claims(ops::ElementChain::opcode)) {
      // C, which has no chains, has a form of the call.
      done = r.replace<ops::ElementwiseBinary>(node, {in[0], in[1]}, {}, {ops::BinaryKind::pow}, true);
    }
    return done ? Result<void>() : pass(done);
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
