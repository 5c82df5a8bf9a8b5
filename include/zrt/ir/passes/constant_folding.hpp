// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/constant_folding.hpp: what depends on constants alone is computed once, by the references.
#pragma once

#include <zrt/ir/passes/rewriter.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/iota.hpp>
#include <zrt/ops/tile.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// Ops that only write out what few bytes say: computed as operands of others, never stored for themselves.
inline constexpr OpSet kSpreads = OpSet::of(boost::mp11::mp_list<ops::BroadcastTo, ops::Iota, ops::Tile>{});

/// Computes values of a graph that no input reaches.
class ConstantFolding {
 public:
  ConstantFolding(const ConstantFolding&) = delete;
  ConstantFolding& operator=(const ConstantFolding&) = delete;
  ConstantFolding(Rewriter& rewriter, const PassContext& context) noexcept
      : r_(rewriter),
        context_(context),
        budget_(context.budget != nullptr ? context.budget : &own_budget_),
        foldable_(rewriter.allocator()),
        slot_(rewriter.allocator()),
        computed_(rewriter.allocator()) {}

  /// Finds what can be computed.
  [[nodiscard]] Result<void> find() noexcept {
    const Graph& g = r_.graph();
    if (auto r = foldable_.resize(g.values.size()); !r) return r;
    if (auto r = slot_.resize(g.values.size()); !r) return r;
    for (std::uint32_t& s : slot_) s = kNone;
    for (const Node& n : g.nodes)
      if (computable(n)) foldable_[g.node_outputs(n)[0]] = 1;
    return {};
  }

  /// Replaces the node by a constant if it can be computed and is worth storing.
  [[nodiscard]] Result<void> fold(std::uint32_t node) noexcept {
    const Graph& g = r_.graph();
    const Node n = g.nodes[node];
    if (n.opcode == ops::Constant::opcode || kSpreads.contains(n.opcode) || n.outputs != 1) return {};
    const std::uint32_t value = g.node_outputs(n)[0];
    if (foldable_[value] == 0) return {};
    const auto done = compute(value, 0);
    if (!done) return pass(done);
    if (!*done) return {};
    const TensorType type = r_.type(value);
    const auto weight = r_.constant(computed_[slot_[value]].span().first(bytes(type)), type.dtype, type.shape);
    if (!weight) return pass(weight);
    const auto replaced = r_.replace<ops::Constant>(node, {}, {*weight}, {ops::ConstantForm::stored});
    return replaced ? Result<void>() : pass(replaced);
  }

 private:
  static constexpr int kDeepest = 256;

  static constexpr std::uint32_t kStored = kNone - 1;  ///< a slot: the elements are the graph's own

  /// True for a constant whose elements the graph stores one by one.
  [[nodiscard]] bool is_stored(std::uint32_t node) const noexcept {
    const auto params = r_.params<ops::Constant>(node);
    return params && params->form == ops::ConstantForm::stored;
  }
  /// A value that has been computed. Until a constant is added, that is: the graph's may then lie somewhere else.
  [[nodiscard]] HostTensor elements(std::uint32_t value) noexcept {
    if (slot_[value] != kStored) return {computed_[slot_[value]].data(), r_.type(value)};
    const Graph& g = r_.graph();
    const Weight& w = g.weights[g.node_weights(g.nodes[r_.producer(value)])[0]];
    // What is an operand is not written.
    return {const_cast<std::byte*>(g.constants.data()) + w.data_offset, r_.type(value)};
  }

  [[nodiscard]] static std::size_t bytes(const TensorType& type) noexcept {
    return static_cast<std::size_t>(bytes_of(type.dtype, type.shape.elements({}).raw()));
  }

  [[nodiscard]] bool computable(const Node& n) const noexcept {
    const Graph& g = r_.graph();
    if (n.outputs != 1 || !is_pure(g, *context_.ops.table, n)) return false;
    if ((*context_.evaluators)[number(n.opcode)] == nullptr) return false;
    const TensorType& type = r_.type(g.node_outputs(n)[0]);
    for (std::size_t axis = 0; axis < type.shape.rank; ++axis)
      if (type.shape[axis].symbol != 0) return false;
    const CheckedSize elements = type.shape.elements({});
    if (is_block(type.dtype) || !elements.ok() || elements.raw() > context_.folded_bytes ||
        bytes(type) > context_.folded_bytes)
      return false;
    if (n.opcode == ops::Constant::opcode) {
      const Weight& w = g.weights[g.node_weights(n)[0]];
      return w.inline_data() && w.dtype == type.dtype;
    }
    for (std::uint32_t w : g.node_weights(n))
      if (w != kNone) return false;
    for (std::uint32_t v : g.node_inputs(n))
      if (v != kNone && foldable_[v] == 0) return false;
    return true;
  }

  /// Computes a foldable value and what it needs; false when its data breaks an op's contract, or the budget is spent.
  [[nodiscard]] Result<bool> compute(std::uint32_t value, int depth) noexcept {
    if (slot_[value] != kNone) return true;
    if (depth == kDeepest || foldable_[value] == 0) return false;
    const Graph& g = r_.graph();
    const Node n = g.nodes[r_.producer(value)];
    std::array<HostTensor, kMaxOperands> in;
    for (std::size_t i = 0; i < n.inputs; ++i) {
      const std::uint32_t v = g.node_inputs(n)[i];
      if (v == kNone) continue;
      const auto done = compute(v, depth + 1);
      if (!done || !*done) return done;
      in[i] = elements(v);
    }
    const TensorType type = r_.type(value);
    if (!budget_->take(0, bytes(type))) {
      foldable_[value] = 0;
      return false;
    }
    if (is_stored(r_.producer(value))) {
      slot_[value] = kStored;
      return true;
    }
    // One byte more, so that an empty tensor has an address too.
    auto memory = Buffer::zeroed(r_.allocator(), bytes(type) + 1);
    if (!memory) return pass(memory);
    const HostTensor out{memory->data(), type};
    HostWeight weight;
    if (n.weights != 0) {
      const Weight& w = g.weights[g.node_weights(n)[0]];
      weight = {g.constants.data() + w.data_offset, w.dtype, 0, 0, 0};
    }
    OperandStorage storage;
    const auto done = (*context_.evaluators)[number(n.opcode)](
        {g.operand_info(n, storage), {in.data(), n.inputs}, {&weight, n.weights}, {&out, 1}, r_.allocator(), budget_});
    if (!done) return done;
    if (!*done) {
      foldable_[value] = 0;
      return false;
    }
    slot_[value] = static_cast<std::uint32_t>(computed_.size());
    if (auto r = computed_.push_back(std::move(*memory)); !r) return pass(r);
    return true;
  }

  Rewriter& r_;
  const PassContext& context_;
  FoldingBudget own_budget_;
  FoldingBudget* budget_;
  Vector<std::uint8_t> foldable_;  ///< by value
  Vector<std::uint32_t> slot_;     ///< by value: where in `computed_` its elements are
  Vector<Buffer> computed_;
};

}  // namespace detail

/// Replaces what no input reaches by constants, computed by the ops' references: the bits that the reference
/// backend would give. What only repeats or counts is not stored for itself; what breaks an op's contract is
/// left for the step to report, what goes beyond the budget for the step to compute.
[[nodiscard]] inline Result<bool> fold_constants(Graph& g, const PassContext& context) noexcept {
  if (context.evaluators == nullptr) return false;
  auto rewriter = Rewriter::of(g, context);
  if (!rewriter) return pass(rewriter);
  detail::ConstantFolding folding(*rewriter, context);
  if (auto r = folding.find(); !r) return pass(r);
  for (std::uint32_t node = 0; node < rewriter->nodes(); ++node) {
    if (rewriter->dead(node)) continue;
    if (auto r = folding.fold(node); !r) return pass(r);
  }
  return rewriter->finish();
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
