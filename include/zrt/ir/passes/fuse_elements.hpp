// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/fuse_elements.hpp: functions of single elements behind each other become one pass over memory.
#pragma once

#include <zrt/ir/passes/rewriter.hpp>
#include <zrt/ops/clamp.hpp>
#include <zrt/ops/element_chain.hpp>

#include <algorithm>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// A chain while it is gathered from the node that makes its result, backwards.
class ChainOfNodes {
 public:
  ChainOfNodes(const Rewriter& rewriter, std::uint32_t node) noexcept : r_(rewriter) {
    fits_ = is_link(rewriter, node);
    if (!fits_) return;
    const TensorType& type = r_.type(r_.graph().node_outputs(r_.graph().nodes[node])[0]);
    shape_ = type.shape;
    fits_ = type.dtype == DType::f32;
    if (!fits_) return;
    const ChainOfNodes none = *this;
    (void)append(node, 0);
    if (fits_) return;
    // There is no room behind what the node reads, which stays as it is.
    restore(none);
    (void)append(node, kDeepest);
  }

  /// Whether the chain saves a pass over memory.
  [[nodiscard]] bool pays() const noexcept { return fits_ && (links_ > 1 || reads_repeated_); }
  [[nodiscard]] const ops::ElementChainParams& params() const noexcept { return params_; }
  /// The inputs; one of the result's shape, over which the result can lie, comes first.
  [[nodiscard]] std::array<std::uint32_t, ops::kChainInputs> inputs() noexcept {
    for (std::uint8_t k = 1; k < ops::kChainInputs && in_[k] != kNone; ++k)
      if (!(r_.type(in_[0]).shape == shape_) && r_.type(in_[k]).shape == shape_) exchange(k);
    return in_;
  }

 private:
  // A node that an earlier visit has made a chain stands for all its links.
  static constexpr int kDeepest = 2;

  [[nodiscard]] static bool is_link(const Rewriter& r, std::uint32_t node) noexcept {
    if (node == kNone) return false;
    const Opcode op = r.graph().nodes[node].opcode;
    return op == ops::ElementwiseUnary::opcode || op == ops::ElementwiseBinary::opcode || op == ops::Clamp::opcode ||
           op == ops::GatedAct::opcode || op == ops::ElementChain::opcode;
  }

  /// Appends the steps of a link and returns the operand that its result is.
  std::uint8_t append(std::uint32_t node, int depth) noexcept {
    ++links_;
    const auto in = r_.graph().node_inputs(r_.graph().nodes[node]);
    const auto of = [&](std::size_t i) noexcept { return operand(in[i], node, depth); };
    using ops::ChainFamily;
    if (const auto unary = r_.params<ops::ElementwiseUnary>(node)) {
      const std::uint8_t x = of(0);
      return step(ChainFamily::unary, static_cast<std::uint8_t>(unary->kind), x, x);
    }
    if (const auto binary = r_.params<ops::ElementwiseBinary>(node)) {
      const std::uint8_t a = of(0);
      const std::uint8_t b = in[1] == in[0] ? a : of(1);
      return step(ChainFamily::binary, static_cast<std::uint8_t>(binary->kind), a, b);
    }
    if (const auto act = r_.params<ops::GatedAct>(node)) {
      const std::uint8_t x = of(0);
      const std::uint8_t gate = step(ChainFamily::activation, static_cast<std::uint8_t>(act->act), x, x);
      if (in[1] == kNone) return gate;
      fits_ = fits_ && act->act != Activation::swiglu_oai;
      return step(ChainFamily::binary, static_cast<std::uint8_t>(ops::BinaryKind::mul), gate,
                  in[1] == in[0] ? x : of(1));
    }
    if (r_.params<ops::Clamp>(node)) {
      const std::uint8_t x = of(0);
      const std::uint8_t raised =
          step(ChainFamily::binary, static_cast<std::uint8_t>(ops::BinaryKind::maximum), x, of(1));
      return step(ChainFamily::binary, static_cast<std::uint8_t>(ops::BinaryKind::minimum), raised, of(2));
    }
    const auto chain = r_.params<ops::ElementChain>(node);
    std::array<std::uint8_t, ops::kChainInputs + ops::kChainSteps> now{};
    if (!chain) return refuse();
    for (std::size_t k = 0; k < ops::kChainInputs; ++k)
      if (in[k] != kNone) now[k] = input(in[k]);
    for (std::size_t s = 0; s < chain->count; ++s) {
      const ops::ChainStep each = chain->step(s);
      now[ops::kChainInputs + s] = step(each.family, each.kind, now[each.lhs], now[each.rhs]);
    }
    return now[ops::kChainInputs + chain->count - 1];
  }

  /// The operand that `v` is for `reader`: a step where nothing else reads it and there is room, else an input.
  std::uint8_t operand(std::uint32_t v, std::uint32_t reader, int depth) noexcept {
    const std::uint32_t maker = r_.producer(v);
    std::uint32_t reads = 0;
    for (const std::uint32_t each : r_.graph().node_inputs(r_.graph().nodes[reader])) reads += each == v ? 1u : 0u;
    if (depth < kDeepest && is_link(r_, maker) && r_.uses(v) == reads && r_.type(v).dtype == DType::f32) {
      const ChainOfNodes before = *this;
      const std::uint8_t made = append(maker, depth + 1);
      if (fits_) return made;
      restore(before);
    }
    Span<const std::uint32_t> in;
    if (maker != kNone && r_.graph().nodes[maker].opcode == ops::BroadcastTo::opcode) {
      in = r_.graph().node_inputs(r_.graph().nodes[maker]);
      if (ops::SpreadOperand::fits(r_.type(in[0]).shape, shape_)) {
        reads_repeated_ = true;
        return input(in[0]);
      }
    }
    return input(v);
  }

  std::uint8_t input(std::uint32_t v) noexcept {
    for (std::uint8_t k = 0; k < ops::kChainInputs; ++k) {
      if (in_[k] == kNone) in_[k] = v;
      if (in_[k] == v) return k;
    }
    return refuse();
  }
  std::uint8_t step(ops::ChainFamily family, std::uint8_t kind, std::uint8_t lhs, std::uint8_t rhs) noexcept {
    if (params_.count == ops::kChainSteps) return refuse();
    params_.steps[params_.count] = ops::ChainStep{family, kind, lhs, rhs}.word();
    return static_cast<std::uint8_t>(ops::kChainInputs + params_.count++);
  }
  std::uint8_t refuse() noexcept {
    fits_ = false;
    return 0;
  }
  void restore(const ChainOfNodes& before) noexcept {
    in_ = before.in_;
    params_ = before.params_;
    fits_ = before.fits_;
    links_ = before.links_;
    reads_repeated_ = before.reads_repeated_;
  }

  /// Inputs 0 and `k` change places.
  void exchange(std::uint8_t k) noexcept {
    std::swap(in_[0], in_[k]);
    const auto moved = [k](std::uint8_t at) noexcept { return at == 0 ? k : at == k ? std::uint8_t{0} : at; };
    for (std::size_t s = 0; s < params_.count; ++s) {
      const ops::ChainStep each = params_.step(s);
      params_.steps[s] = ops::ChainStep{each.family, each.kind, moved(each.lhs), moved(each.rhs)}.word();
    }
  }

  const Rewriter& r_;
  Shape shape_;
  std::array<std::uint32_t, ops::kChainInputs> in_{kNone, kNone, kNone, kNone, kNone, kNone};
  ops::ElementChainParams params_;
  std::uint32_t links_ = 0;
  bool fits_ = true;
  bool reads_repeated_ = false;
};

}  // namespace detail

/// Replaces functions of single f32 elements that nothing else reads, and repetitions that they read, by
/// element_chain. The same bits. Last of all, since no pattern looks into a chain.
[[nodiscard]] inline Result<bool> fuse_elements(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    if (!r.claims(ops::ElementChain::opcode)) return {};
    detail::ChainOfNodes chain(r, node);
    if (!chain.pays()) return {};
    const auto in = chain.inputs();
    const auto done =
        r.replace<ops::ElementChain>(node, {in[0], in[1], in[2], in[3], in[4], in[5]}, {}, chain.params());
    return done ? Result<void>() : pass(done);
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
