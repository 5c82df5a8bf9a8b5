// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/add_adapters.hpp: low-rank adapters behind every projection of a step's rows.
#pragma once

#include <zrt/ir/builder.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/lora_add.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

/// The room of a graph for adapters.
struct AdapterSizes {
  std::uint32_t adapters = 0;
  std::uint32_t rank = 0;  ///< of the largest

  /// Devices load whole pieces of four f32. Every backend has the same columns of zeros, so that all have the same bits.
  [[nodiscard]] static constexpr AdapterSizes of(std::uint32_t adapters, std::uint32_t rank) noexcept {
    return {adapters, (rank + 3) / 4 * 4};
  }
};

/// The matrices of all adapters of one weight are weights of their own, by these names.
[[nodiscard]] inline Name down_pool(std::string_view weight) noexcept { return Name::of(weight, ".lora_a"); }
[[nodiscard]] inline Name up_pool(std::string_view weight) noexcept { return Name::of(weight, ".lora_b"); }
/// Whether a weight is one of them.
[[nodiscard]] inline bool is_adapter_pool(std::string_view weight) noexcept {
  return weight.ends_with(".lora_a") || weight.ends_with(".lora_b");
}

/// Puts a lora_add behind every linear of one row for each element of `adapters` whose weight is the model's. `g` holds
/// a lowered graph; `adapters` is an input of it, si32 of one axis.
class AdapterPass {
 public:
  AdapterPass(Builder& g, ValueId adapters, const AdapterSizes& sizes) noexcept
      : g_(g), adapters_(adapters), sizes_(sizes), now_(g.graph().allocator) {}

  /// Errors: Errc::limit_exceeded for a weight with too long a name; those of the builder.
  [[nodiscard]] Result<void> run() noexcept {
    Graph& graph = g_.graph();
    if (auto r = now_.resize(graph.values.size()); !r) return r;
    for (std::uint32_t v = 0; v < now_.size(); ++v) now_[v] = v;
    const Vector<Node> nodes = std::move(graph.nodes);
    graph.nodes = Vector<Node>(graph.allocator);
    for (const Node& n : nodes)
      if (auto r = keep(n); !r) return r;
    for (Port& port : graph.outputs) port.value = {now_[port.value.index]};
    return {};
  }

 private:
  /// Appends a node that reads what adapters made of its inputs, and what they make of its result.
  [[nodiscard]] Result<void> keep(const Node& n) noexcept {
    Graph& graph = g_.graph();
    const auto at = static_cast<std::uint32_t>(graph.nodes.size());
    for (std::uint32_t i = 0; i < n.inputs; ++i)
      if (std::uint32_t& value = graph.operands[n.first_operand + i]; value != kNone) value = now_[value];
    for (const std::uint32_t value : graph.node_outputs(n)) graph.values[value].producer = at;
    if (auto r = graph.nodes.push_back(n); !r) return r;
    return takes_adapters(n) ? add(graph.node_inputs(n)[0], graph.node_weights(n)[0], graph.node_outputs(n)[0])
                             : Result<void>{};
  }

  [[nodiscard]] bool takes_adapters(const Node& n) const noexcept {
    if (n.opcode != ops::Linear::opcode) return false;
    const Graph& graph = g_.graph();
    const Shape& x = graph.values[graph.node_inputs(n)[0]].type.shape;
    return !graph.weights[graph.node_weights(n)[0]].inline_data() && x.rank == 2 &&
           x[0] == g_.type_of(adapters_).shape[0];
  }

  [[nodiscard]] Result<void> add(std::uint32_t x, std::uint32_t weight, std::uint32_t y) noexcept {
    const std::string_view name = g_.graph().weights[weight].name.view();
    const Name down = down_pool(name), up = up_pool(name);
    if (!up.fits()) return fail(Errc::limit_exceeded, "weight ", name, " has too long a name to take adapters");
    const Shape matrix = g_.graph().weights[weight].shape;
    auto a = pool_of(down, Shape{sizes_.adapters, sizes_.rank, matrix[1]});
    if (!a) return pass(a);
    auto b = pool_of(up, Shape{sizes_.adapters, matrix[0], sizes_.rank});
    if (!b) return pass(b);
    const ValueId sum = g_.emit<ops::LoraAdd>({.in = {ValueId{x}, ValueId{y}, adapters_}, .w = {*a, *b}})[0];
    now_[y] = sum.index;
    return {};
  }

  /// The weight of that name; layers may share one.
  [[nodiscard]] Result<WeightId> pool_of(const Name& name, const Shape& shape) noexcept {
    Vector<Weight>& weights = g_.graph().weights;
    for (std::size_t i = weights.size(); i-- > 0;)
      if (weights[i].name == name) return WeightId{static_cast<std::uint32_t>(i)};
    if (auto r = weights.push_back({name, DType::f32, shape, Weight::kNoData, 0}); !r) return pass(r);
    return WeightId{static_cast<std::uint32_t>(weights.size() - 1)};
  }

  Builder& g_;
  ValueId adapters_;
  AdapterSizes sizes_;
  Vector<std::uint32_t> now_;  ///< the value that stands for each one behind its adapters
};

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
