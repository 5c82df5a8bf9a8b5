// SPDX-License-Identifier: Apache-2.0
// zrt/ir/graph.hpp: a flat graph of ops over typed values, weights by name and state by id.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/core/name.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/ops/op_table.hpp>

#include <cstdint>
#include <limits>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// Names a value of one graph; default-constructed it names none.
struct ValueId {
  std::uint32_t index = kNone;
  [[nodiscard]] constexpr bool present() const noexcept { return index != kNone; }
  friend constexpr bool operator==(ValueId, ValueId) = default;
};

/// Names a weight of one graph; default-constructed it names none.
struct WeightId {
  std::uint32_t index = kNone;
  [[nodiscard]] constexpr bool present() const noexcept { return index != kNone; }
  friend constexpr bool operator==(WeightId, WeightId) = default;
};

/// Names a piece of state of one graph; default-constructed it names none.
struct StateId {
  std::uint32_t index = kNone;
  [[nodiscard]] constexpr bool present() const noexcept { return index != kNone; }
  friend constexpr bool operator==(StateId, StateId) = default;
};

/// Names a region of one graph; default-constructed it names none.
struct RegionId {
  std::uint32_t index = kNone;
  [[nodiscard]] constexpr bool present() const noexcept { return index != kNone; }
  friend constexpr bool operator==(RegionId, RegionId) = default;
};

/// A typed value: a graph input, or one result of one node.
struct Value {
  TensorType type{};
  std::uint32_t producer = kNone;  ///< node index; kNone for an input
};

/// A weight: a tensor of the model by name, or data that the graph carries.
struct Weight {
  Name name{};
  DType dtype = DType::f32;
  Shape shape{};
  std::uint64_t data_offset = kNoData;  ///< into the graph's constants
  std::uint64_t data_bytes = 0;

  static constexpr std::uint64_t kNoData = std::numeric_limits<std::uint64_t>::max();
  [[nodiscard]] bool inline_data() const noexcept { return data_offset != kNoData; }
  [[nodiscard]] WeightInfo info() const noexcept { return {true, dtype, shape}; }
};

/// One op applied. Operands lie in the graph's pool: inputs, weights, regions, outputs, in-place marks.
struct Node {
  Opcode opcode{};
  std::uint8_t inputs = 0;
  std::uint8_t outputs = 0;
  std::uint8_t weights = 0;
  std::uint8_t regions = 0;
  std::uint8_t params_version = 0;
  std::uint16_t params_bytes = 0;
  std::uint32_t first_operand = 0;
  std::uint32_t params_offset = 0;
  StateId state{};
  std::uint32_t origin = 0;  ///< the node of a file that it comes from, as whoever made the graph numbers them; or 0
};

/// A named value at the border of the graph.
struct Port {
  Name name{};
  ValueId value{};
};

/// An extent that is data of the step, with its upper bound; 0 means bound per shape.
struct Symbol {
  Name name{};
  std::uint32_t bound = 0;
};

/// Nodes in program order and the pools that they index. Anyone may fill it; `verify` judges it.
struct Graph {
  explicit Graph(Allocator a = system_allocator()) noexcept
      : allocator(a),
        nodes(a),
        values(a),
        weights(a),
        states(a),
        symbols(a),
        inputs(a),
        outputs(a),
        operands(a),
        params(a),
        constants(a),
        regions(a) {}

  Allocator allocator;
  Vector<Node> nodes;
  Vector<Value> values;
  Vector<Weight> weights;
  Vector<StateInfo> states;
  Vector<Symbol> symbols;  ///< entry i is symbol i + 1
  Vector<Port> inputs;
  Vector<Port> outputs;
  Vector<std::uint32_t> operands;
  Vector<std::byte> params;
  Vector<std::byte> constants;
  Vector<Graph> regions;  ///< each of one node, closed: what it reads from outside is a parameter

  /// Adds data to the constants and returns where it begins, a multiple of 64.
  [[nodiscard]] Result<std::uint64_t> store(Span<const std::byte> data) noexcept {
    constexpr std::array<std::byte, 63> kFiller{};
    const std::uint64_t offset = align_up(constants.size(), 64);
    // By append, which makes room to spare, so that many constants are moved few times.
    if (auto r = constants.append({kFiller.data(), static_cast<std::size_t>(offset - constants.size())}); !r)
      return pass(r);
    if (auto r = constants.append(data); !r) return pass(r);
    return offset;
  }

  [[nodiscard]] Span<const std::uint32_t> node_inputs(const Node& n) const noexcept {
    return {operands.data() + n.first_operand, n.inputs};
  }
  [[nodiscard]] Span<const std::uint32_t> node_outputs(const Node& n) const noexcept {
    return {operands.data() + n.first_operand + n.inputs + n.weights + n.regions, n.outputs};
  }
  [[nodiscard]] Span<const std::uint32_t> node_weights(const Node& n) const noexcept {
    return {operands.data() + n.first_operand + n.inputs, n.weights};
  }
  [[nodiscard]] Span<const std::uint32_t> node_regions(const Node& n) const noexcept {
    return {operands.data() + n.first_operand + n.inputs + n.weights, n.regions};
  }
  /// For each output: 1 + the input that it overwrites, or 0.
  [[nodiscard]] Span<const std::uint32_t> node_in_place(const Node& n) const noexcept {
    return {operands.data() + in_place_at(n), n.outputs};
  }
  /// Where the in-place marks of a node begin in the pool.
  [[nodiscard]] static constexpr std::size_t in_place_at(const Node& n) noexcept {
    return std::size_t{n.first_operand} + n.inputs + n.weights + n.regions + n.outputs;
  }
  [[nodiscard]] static constexpr std::uint32_t operand_count(const Node& n) noexcept {
    return std::uint32_t{n.inputs} + 2u * n.outputs + n.weights + n.regions;
  }
  [[nodiscard]] ParamBlock node_params(const Node& n) const noexcept {
    return {n.params_version, n.opcode, {params.data() + n.params_offset, n.params_bytes}};
  }

  /// What the shape rule of `n` sees, in `storage`; ids are in range, borders of regions too.
  [[nodiscard]] OperandInfo operand_info(const Node& n, OperandStorage& storage) const noexcept {
    const auto ins = node_inputs(n);
    const auto ws = node_weights(n);
    const auto rs = node_regions(n);
    for (std::size_t i = 0; i < ins.size(); ++i)
      storage.in.make(i, ins[i] == kNone ? InputInfo{} : InputInfo{true, values[ins[i]].type});
    for (std::size_t i = 0; i < ws.size(); ++i)
      storage.w.make(i, ws[i] == kNone ? WeightInfo{} : weights[ws[i]].info());
    std::size_t next = 0;
    auto list = [&](const Graph& region, const Vector<Port>& ports) {
      const TensorType* const first = storage.types.data() + next;
      for (const Port& port : ports) storage.types.make(next++, region.values[port.value.index].type);
      return Span<const TensorType>(first, ports.size());
    };
    for (std::size_t i = 0; i < rs.size(); ++i) {
      const Graph& region = regions[rs[i]];
      storage.regions.make(i, {list(region, region.inputs), list(region, region.outputs)});
    }
    return {{storage.in.data(), ins.size()},
            {storage.w.data(), ws.size()},
            n.state.present() ? states[n.state.index] : StateInfo{},
            node_params(n),
            {storage.regions.data(), rs.size()}};
  }
};

/// True when the border of a region has room in an OperandStorage, and names values.
[[nodiscard]] inline bool fits_region(const Graph& region) noexcept {
  if (region.inputs.size() > kMaxOperands || region.outputs.size() > kMaxOperands) return false;
  for (const Vector<Port>* ports : {&region.inputs, &region.outputs})
    for (const Port& port : *ports)
      if (port.value.index >= region.values.size()) return false;
  return true;
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
