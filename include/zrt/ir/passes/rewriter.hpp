// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/rewriter.hpp: a graph while a pass rewrites it: who makes a value, how often it is read, and nodes replaced in place.
#pragma once

#include <zrt/ir/passes/context.hpp>
#include <zrt/ir/passes/purity.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

/// Replaces nodes of a graph by others that give the same values, and puts new ones before them.
///
/// A replaced node keeps its results, so nothing that reads them changes; what it alone had read is dead
/// and no longer counts as a reader. Nodes keep their order. `finish` brings new nodes to their places;
/// until then they stand behind the old ones.
class Rewriter {
 public:
  [[nodiscard]] static Result<Rewriter> of(Graph& g, const PassContext& context) noexcept {
    Rewriter made(g, context);
    if (auto r = made.uses_.resize(g.values.size()); !r) return pass(r);
    if (auto r = made.overwritten_.resize(g.values.size()); !r) return pass(r);
    if (auto r = made.dead_.resize(g.nodes.size()); !r) return pass(r);
    for (std::uint32_t i = 0; i < g.nodes.size(); ++i) {
      const Node& n = g.nodes[i];
      for (std::uint32_t v : g.node_outputs(n)) g.values[v].producer = i;
      for (std::uint32_t v : g.node_inputs(n))
        if (v != kNone) ++made.uses_[v];
      for (std::uint32_t mark : g.node_in_place(n))
        if (mark != 0) made.overwritten_[g.node_inputs(n)[mark - 1]] = 1;
    }
    for (const Port& port : g.outputs) ++made.uses_[port.value.index];
    return made;
  }

  [[nodiscard]] const Graph& graph() const noexcept { return *g_; }
  /// Nodes that the pass visits: those that were there when it began.
  [[nodiscard]] std::uint32_t nodes() const noexcept { return first_new_; }
  [[nodiscard]] bool dead(std::uint32_t node) const noexcept { return dead_[node] != 0; }
  [[nodiscard]] const TensorType& type(std::uint32_t value) const noexcept { return g_->values[value].type; }
  [[nodiscard]] std::uint32_t producer(std::uint32_t value) const noexcept { return g_->values[value].producer; }
  /// How many operands and ports read the value.
  [[nodiscard]] std::uint32_t uses(std::uint32_t value) const noexcept { return uses_[value]; }
  /// True when a pass may put the op into the graph.
  [[nodiscard]] bool claims(Opcode opcode) const noexcept { return context_->claims.contains(opcode); }
  [[nodiscard]] const Allocator& allocator() const noexcept { return g_->allocator; }

  /// The parameters of the node when it applies op O.
  template <class O> [[nodiscard]] std::optional<typename O::Params> params(std::uint32_t node) const noexcept {
    if (node == kNone || g_->nodes[node].opcode != O::opcode) return std::nullopt;
    const auto decoded = decode_params<O>(g_->node_params(g_->nodes[node]));
    return decoded ? std::optional(*decoded) : std::nullopt;
  }

  /// Data that the graph carries from now on.
  [[nodiscard]] Result<WeightId> constant(Span<const std::byte> data, DType dtype, const Shape& shape) noexcept {
    const auto offset = g_->store(data);
    if (!offset) return pass(offset);
    return add({constant_name(), dtype, shape, *offset, data.size()});
  }
  /// Weight `of` under another shape of as many elements.
  [[nodiscard]] Result<WeightId> reshaped(std::uint32_t of, const Shape& shape) noexcept {
    Weight record = g_->weights[of];
    if (record.shape == shape) return WeightId{of};
    record.shape = shape;
    record.name = constant_name();
    return add(record);
  }
  /// Rows [first, first + count) of weight `of`, a matrix or a vector of whole bytes that the graph carries.
  [[nodiscard]] Result<WeightId> rows(std::uint32_t of, std::uint64_t first, std::uint64_t count) noexcept {
    Weight record = g_->weights[of];
    const std::uint64_t row_bytes = record.data_bytes / record.shape[0].extent;
    record.shape.dims[0] = static_cast<std::uint32_t>(count);
    record.data_offset += first * row_bytes;
    record.data_bytes = count * row_bytes;
    record.name = constant_name();
    return add(record);
  }

  /// Puts a node of O before node `at`. The result is absent where the op's shape rule or the backend refuses it.
  template <class O>
  [[nodiscard]] Result<ValueId> insert(std::uint32_t at, std::initializer_list<std::uint32_t> in,
                                       std::initializer_list<WeightId> w, const typename O::Params& params) noexcept {
    TensorType type;
    auto node = make<O>({in.begin(), in.size()}, {w.begin(), w.size()}, params, type);
    if (!node) return pass(node);
    if (!node->has_value()) return ValueId{};
    const auto value = static_cast<std::uint32_t>(g_->values.size());
    if (auto r = g_->values.push_back({type, static_cast<std::uint32_t>(g_->nodes.size())}); !r) return pass(r);
    if (auto r = uses_.push_back(0); !r) return pass(r);
    if (auto r = overwritten_.push_back(0); !r) return pass(r);
    if (auto r = dead_.push_back(0); !r) return pass(r);
    if (auto r = before_.push_back(at); !r) return pass(r);
    if (auto r = close(**node, value); !r) return pass(r);
    (*node)->origin = g_->nodes[at].origin;
    if (auto r = g_->nodes.push_back(**node); !r) return pass(r);
    for (std::uint32_t v : in)
      if (v != kNone) ++uses_[v];
    return ValueId{value};
  }

  /// Lets node `at`, of one result, apply O instead; false where O gives another type or is refused, and
  /// then nothing has changed. `known` says that the caller knows what a call defined by the host means.
  template <class O>
  [[nodiscard]] Result<bool> replace(std::uint32_t at, std::initializer_list<std::uint32_t> in,
                                     std::initializer_list<WeightId> w, const typename O::Params& params,
                                     bool known = false) noexcept {
    const Node old = g_->nodes[at];
    const std::uint32_t value = g_->node_outputs(old)[0];
    if ((!known && !is_pure(*g_, *context_->ops.table, old)) || old.outputs != 1) return false;
    TensorType type;
    auto node = make<O>({in.begin(), in.size()}, {w.begin(), w.size()}, params, type);
    if (!node) return pass(node);
    if (!node->has_value()) return false;
    if (!(type == g_->values[value].type)) {
      drop(**node);
      return false;
    }
    if (auto r = close(**node, value); !r) return pass(r);
    for (std::uint32_t v : in)
      if (v != kNone) ++uses_[v];
    (*node)->origin = old.origin;
    g_->nodes[at] = **node;
    changed_ = true;
    if (auto r = release(old); !r) return pass(r);
    return true;
  }

  /// Brings new nodes to their places; true when a node was replaced.
  [[nodiscard]] Result<bool> finish() noexcept {
    if (before_.empty()) return changed_;
    Vector<Node> ordered(g_->allocator);
    if (auto r = ordered.reserve(g_->nodes.size()); !r) return pass(r);
    // Chained by the node that they stand before, in the order of their making.
    Vector<std::uint32_t> next(g_->allocator);
    Vector<std::uint32_t> first(g_->allocator);
    if (auto r = next.resize(before_.size()); !r) return pass(r);
    if (auto r = first.resize(first_new_); !r) return pass(r);
    for (std::uint32_t& f : first) f = kNone;
    for (std::size_t i = before_.size(); i-- > 0;) {
      next[i] = first[before_[i]];
      first[before_[i]] = static_cast<std::uint32_t>(i);
    }
    for (std::uint32_t at = 0; at < first_new_; ++at) {
      for (std::uint32_t i = first[at]; i != kNone; i = next[i])
        if (auto r = ordered.push_back(g_->nodes[first_new_ + i]); !r) return pass(r);
      if (auto r = ordered.push_back(g_->nodes[at]); !r) return pass(r);
    }
    g_->nodes = std::move(ordered);
    for (std::uint32_t i = 0; i < g_->nodes.size(); ++i)
      for (std::uint32_t v : g_->node_outputs(g_->nodes[i])) g_->values[v].producer = i;
    return changed_;
  }

 private:
  Rewriter(Graph& g, const PassContext& context) noexcept
      : g_(&g),
        context_(&context),
        uses_(g.allocator),
        overwritten_(g.allocator),
        dead_(g.allocator),
        before_(g.allocator),
        first_new_(static_cast<std::uint32_t>(g.nodes.size())) {}

  [[nodiscard]] Name constant_name() const noexcept {
    return Name::of("constant.", static_cast<unsigned>(g_->weights.size()));
  }
  [[nodiscard]] Result<WeightId> add(const Weight& record) noexcept {
    if (auto r = g_->weights.push_back(record); !r) return pass(r);
    return WeightId{static_cast<std::uint32_t>(g_->weights.size() - 1)};
  }

  /// A node of O without its results, at the end of the pools; none where it is refused.
  template <class O>
  [[nodiscard]] Result<std::optional<Node>> make(Span<const std::uint32_t> in, Span<const WeightId> w,
                                                 const typename O::Params& params, TensorType& type) noexcept {
    static_assert(kOutputs<O> == 1);
    std::array<std::byte, kMaxParamBytes> bytes{};
    encode_params(params, Span<std::byte>(bytes));
    return make(context_->ops.row(O::opcode), in, w, {bytes.data(), kParamBytes<typename O::Params>}, type);
  }
  [[nodiscard]] Result<std::optional<Node>> make(const OpRow* row, Span<const std::uint32_t> in, Span<const WeightId> w,
                                                 Span<const std::byte> params, TensorType& type) noexcept {
    if (row == nullptr || !context_->claims.contains(row->opcode)) return std::optional<Node>();
    for (std::uint32_t v : in)
      if (v != kNone && overwritten_[v] != 0) return std::optional<Node>();
    Node node;
    node.opcode = row->opcode;
    node.inputs = static_cast<std::uint8_t>(in.size());
    node.weights = static_cast<std::uint8_t>(w.size());
    node.outputs = 1;
    node.params_version = row->params_version;
    node.params_bytes = static_cast<std::uint16_t>(params.size());
    node.first_operand = static_cast<std::uint32_t>(g_->operands.size());
    node.params_offset = static_cast<std::uint32_t>(g_->params.size());
    if (auto r = g_->operands.append(in); !r) return pass(r);
    for (WeightId weight : w)
      if (auto r = g_->operands.push_back(weight.index); !r) return pass(r);
    if (auto r = g_->params.append(params); !r) return pass(r);
    if (auto r = g_->params.resize(align_up(g_->params.size(), 8)); !r) return pass(r);
    OperandStorage storage;
    std::array<TensorType, kMaxOperands> types;
    const auto inferred = row->infer(g_->operand_info(node, storage), types);
    if (!inferred || types[0].shape.rank > row->max_rank) {
      drop(node);
      return std::optional<Node>();
    }
    type = types[0];
    return std::optional<Node>(node);
  }
  /// Takes the operands and parameters of the node that `make` gave last off the pools.
  void drop(const Node& node) noexcept {
    while (g_->operands.size() > node.first_operand) g_->operands.pop_back();
    while (g_->params.size() > node.params_offset) g_->params.pop_back();
  }
  /// Gives the node that `make` gave last its result.
  [[nodiscard]] Result<void> close(const Node&, std::uint32_t value) noexcept {
    if (auto r = g_->operands.push_back(value); !r) return r;
    return g_->operands.push_back(0);
  }

  /// Forgets what a node that is no more had read, and what was read by it alone.
  [[nodiscard]] Result<void> release(const Node& old) noexcept {
    Vector<Node> gone(g_->allocator);
    if (auto r = gone.push_back(old); !r) return r;
    while (!gone.empty()) {
      const Node n = gone.back();
      gone.pop_back();
      for (std::uint32_t v : g_->node_inputs(n)) {
        if (v == kNone || --uses_[v] != 0 || producer(v) == kNone) continue;
        const Node& maker = g_->nodes[producer(v)];
        bool needed = maker.state.present() || dead_[producer(v)] != 0;
        for (std::uint32_t out : g_->node_outputs(maker)) needed = needed || uses_[out] != 0;
        if (needed) continue;
        dead_[producer(v)] = 1;
        if (auto r = gone.push_back(maker); !r) return r;
      }
    }
    return {};
  }

  Graph* g_;
  const PassContext* context_;
  Vector<std::uint32_t> uses_;        ///< by value
  Vector<std::uint8_t> overwritten_;  ///< by value
  Vector<std::uint8_t> dead_;         ///< by node
  Vector<std::uint32_t> before_;      ///< of each new node: the one that it stands before
  std::uint32_t first_new_;
  bool changed_ = false;
};

/// Visits every node of a graph in order: `visit(rewriter, node)` may replace it. True when one was replaced.
template <class Visit>
[[nodiscard]] Result<bool> rewrite_nodes(Graph& g, const PassContext& context, Visit&& visit) noexcept {
  auto rewriter = Rewriter::of(g, context);
  if (!rewriter) return pass(rewriter);
  for (std::uint32_t node = 0; node < rewriter->nodes(); ++node) {
    if (rewriter->dead(node)) continue;
    if (Result<void> r = visit(*rewriter, node); !r) return pass(r);
  }
  return rewriter->finish();
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
