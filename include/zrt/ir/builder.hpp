// SPDX-License-Identifier: Apache-2.0
// zrt/ir/builder.hpp: appends ops to a graph; arch programs and expansions are written against it.
#pragma once

#include <zrt/ir/graph.hpp>
#include <zrt/quant/types.hpp>

#include <array>
#include <cstring>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

/// Looks up a weight by name in the model file; `bound` is false when the file lacks it.
struct WeightLookup {
  const void* context = nullptr;
  WeightInfo (*find)(const void* context, std::string_view name) noexcept = nullptr;
};

/// Builds a graph op by op and keeps the first error, which `finish` returns.
///
/// Its tensors are graph values. Expansions and arch programs are templates over a builder, so they run on this one and
/// on model::CheckBuilder. After an error every call does nothing and returns absent handles.
class Builder {
 public:
  using Tensor = ValueId;
  using Weight = WeightId;
  using State = StateId;
  using Region = RegionId;

  explicit Builder(const OpTable& table, Allocator allocator = system_allocator(), WeightLookup lookup = {}) noexcept
      : table_(&table), lookup_(lookup), graph_(allocator) {}

  /// Declares an extent that is data of the step.
  [[nodiscard]] SymbolId symbol(const Name& name, std::uint32_t bound) noexcept {
    if (!error_ && graph_.symbols.size() + 1 >= kMaxSymbols)
      set(Error::of(Errc::limit_exceeded, "a graph has at most ", kMaxSymbols - 1, " symbols"));
    if (error_ || !keep(graph_.symbols.push_back({name, bound}))) return 0;
    return static_cast<SymbolId>(graph_.symbols.size());
  }

  /// Adds a graph input.
  [[nodiscard]] ValueId input(const Name& name, const TensorType& type) noexcept {
    const ValueId value = add_value(type, kNone);
    if (value.present()) (void)keep(graph_.inputs.push_back({name, value}));
    return value;
  }

  /// Names a value as a result of the graph.
  void output(const Name& name, ValueId value) noexcept {
    if (error_) return;
    if (value.index >= graph_.values.size()) {
      set(Error::of(Errc::dangling_value, "output ", name.view(), " names no value"));
      return;
    }
    (void)keep(graph_.outputs.push_back({name, value}));
  }

  /// Names a tensor that the model must have with this shape.
  [[nodiscard]] WeightId weight(const Name& name, const Shape& shape) noexcept { return bind(name, shape, true); }

  /// Names a tensor that the model may lack; the handle is then absent.
  [[nodiscard]] WeightId optional_weight(const Name& name, const Shape& shape) noexcept {
    return bind(name, shape, false);
  }

  /// Adds a vector of f32 as a constant of the graph.
  [[nodiscard]] WeightId constant(Span<const float> data) noexcept {
    return constant(as_bytes(data), DType::f32, Shape{static_cast<std::uint32_t>(data.size())});
  }

  /// Adds data, row-major and little-endian, as a constant of the graph.
  [[nodiscard]] WeightId constant(Span<const std::byte> data, DType dtype, const Shape& shape) noexcept {
    if (error_) return {};
    const auto offset = graph_.store(data);
    if (!keep(offset ? Result<void>() : pass(offset))) return {};
    ir::Weight record{Name::of("constant.", static_cast<unsigned>(graph_.weights.size())), dtype, shape, *offset,
                      data.size()};
    return add_weight(record);
  }

  /// Declares a piece of state.
  [[nodiscard]] StateId state(const StateInfo& state) noexcept {
    if (error_ || !keep(graph_.states.push_back(state))) return {};
    return {static_cast<std::uint32_t>(graph_.states.size() - 1)};
  }

  [[nodiscard]] TensorType type_of(ValueId value) const noexcept {
    return value.index < graph_.values.size() ? graph_.values[value.index].type : TensorType{};
  }

  /// Adds a region: a graph of its own for one node of this one.
  [[nodiscard]] RegionId region(Graph graph) noexcept {
    if (error_ || !keep(graph_.regions.push_back(std::move(graph)))) return {};
    return {static_cast<std::uint32_t>(graph_.regions.size() - 1)};
  }

  /// Applies op O and returns its results.
  template <class O> OutputList<ValueId, O> emit(const Call<Builder, O>& call) noexcept {
    std::array<std::byte, kMaxParamBytes> bytes{};
    encode_params(call.params, Span<std::byte>(bytes));
    const ParamBlock params{O::Params::version, O::opcode, {bytes.data(), kParamBytes<typename O::Params>}};
    std::array<ValueId, kMaxOperands> results{};
    Span<const RegionId> regions;
    if constexpr (HasRegions<O>) regions = call.region;
    const std::size_t count =
        append(O::opcode, {call.in.data(), call.in.size()}, call.w, call.state, params, results, regions);
    OutputList<ValueId, O> out{};
    fill(out, Span<const ValueId>(results.data(), RepeatsOutputs<O> ? count : kOutputs<O>));
    return out;
  }

  /// Applies an op by number; `out` receives its results. Returns their number.
  std::size_t append(Opcode opcode, Span<const ValueId> in, Span<const WeightId> w, StateId state,
                     const ParamBlock& params, Span<ValueId> out, Span<const RegionId> regions = {}) noexcept {
    if (error_) return 0;
    const OpRow* row = (*table_)[number(opcode)];
    auto bad = [this](Errc code, auto... pieces) {
      set(Error::of(code, pieces...));
      return std::size_t{0};
    };
    if (row == nullptr)
      return bad(Errc::unsupported_opcode, "opcode ", unsigned{number(opcode)}, " is not in the catalog");
    if (expanding_ != nullptr && !expanding_->expands_to.contains(opcode))
      return bad(Errc::unsupported_opcode, expanding_->name, " expands to ", row->name,
                 ", which its expands_to does not list");
    if (!row->takes_inputs(in.size()) || regions.size() != row->regions.size())
      return bad(Errc::invalid_argument, row->name, ": ", in.size(), " inputs and ", regions.size(),
                 " regions do not match the op");
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in[i].present() && row->input(i).optional) continue;
      if (in[i].index >= graph_.values.size())
        return bad(Errc::dangling_value, row->name, ": input ", row->input(i).name, " names no value");
    }
    if (row->lifecycle != StateLifecycle::none && state.index >= graph_.states.size())
      return bad(Errc::invalid_state, row->name, " needs a state");
    for (RegionId region : regions)
      if (region.index >= graph_.regions.size() || !fits_region(graph_.regions[region.index]))
        return bad(Errc::dangling_value, row->name, ": a region names none, or has more than ", kMaxOperands,
                   " parameters or results");
    Node node;
    node.opcode = opcode;
    node.inputs = static_cast<std::uint8_t>(in.size());
    node.weights = static_cast<std::uint8_t>(w.size());
    node.regions = static_cast<std::uint8_t>(regions.size());
    node.params_version = params.version;
    node.params_bytes = static_cast<std::uint16_t>(params.data.size());
    node.first_operand = static_cast<std::uint32_t>(graph_.operands.size());
    node.params_offset = static_cast<std::uint32_t>(graph_.params.size());
    node.state = state;
    node.origin = origin_;
    if (!put(in) || !put(w) || !put(regions) || !keep(graph_.params.append(params.data)) ||
        !keep(graph_.params.resize(align_up(graph_.params.size(), 8))))
      return 0;

    const auto index = static_cast<std::uint32_t>(graph_.nodes.size());
    OperandStorage storage;
    std::array<TensorType, kMaxOperands> types;
    const auto count = row->infer(graph_.operand_info(node, storage), types);
    if (!count) {
      Error error = count.error();
      // A shape rule names roles; the reader of the message needs the file's tensor names.
      if (error.code() == Errc::unsupported_weight_type)
        for (WeightId weight : w)
          if (weight.present() && quant::facts(graph_.weights[weight.index].dtype) == nullptr)
            error.append("; tensor ").append(graph_.weights[weight.index].name.view());
      set(error.at_instruction(index, number(opcode)));
      return 0;
    }
    node.outputs = static_cast<std::uint8_t>(*count);
    for (std::size_t i = 0; i < *count; ++i) out[i] = add_value(types[i], index);
    if (!put(Span<const ValueId>(out.first(*count)))) return 0;
    for (std::size_t i = 0; i < *count; ++i)
      if (!keep(graph_.operands.push_back(0))) return 0;
    return !error_ && keep(graph_.nodes.push_back(node)) ? *count : 0;
  }

  /// Marks the last node's output `output` as written over its input `input`.
  void in_place(std::uint32_t output, std::uint32_t input) noexcept {
    if (error_ || graph_.nodes.empty()) return;
    const Node& n = graph_.nodes.back();
    if (output < n.outputs && input < n.inputs) graph_.operands[Graph::in_place_at(n) + output] = input + 1;
  }

  /// What the nodes come from that are appended from now on; see Node.
  void origin(std::uint32_t number) noexcept { origin_ = number; }

  /// Sets the op whose expansion is being built, so that its `expands_to` bounds what is appended.
  void expanding(const OpRow* row) noexcept { expanding_ = row; }

  /// Records an error as if a call had met it. Only the first counts.
  void set(const Error& error) noexcept {
    if (!error_) first_ = error;
    error_ = true;
  }

  /// The graph as built so far.
  [[nodiscard]] Graph& graph() noexcept { return graph_; }
  [[nodiscard]] const OpTable& table() const noexcept { return *table_; }
  [[nodiscard]] bool failed() const noexcept { return error_; }

  /// Returns the graph, or the first error.
  [[nodiscard]] Result<Graph> finish() noexcept {
    if (error_) return std::unexpected<Error>(first_);
    return std::move(graph_);
  }

 private:
  bool keep(const Result<void>& result) noexcept {
    if (!result) set(result.error());
    return !error_;
  }

  /// Appends ids to the pool of operands.
  template <class Id> bool put(Span<const Id> ids) noexcept {
    for (Id id : ids)
      if (!keep(graph_.operands.push_back(id.index))) return false;
    return true;
  }

  ValueId add_value(const TensorType& type, std::uint32_t producer) noexcept {
    if (error_ || !keep(graph_.values.push_back({type, producer}))) return {};
    return {static_cast<std::uint32_t>(graph_.values.size() - 1)};
  }

  WeightId add_weight(const ir::Weight& record) noexcept {
    if (!keep(graph_.weights.push_back(record))) return {};
    return {static_cast<std::uint32_t>(graph_.weights.size() - 1)};
  }

  WeightId bind(const Name& name, const Shape& shape, bool required) noexcept {
    if (error_) return {};
    const WeightInfo found = lookup_.find == nullptr ? WeightInfo{} : lookup_.find(lookup_.context, name.view());
    if (!found.bound) {
      if (required) set(Error::of(Errc::missing_weight, "the model has no tensor ", name.view()));
      return {};
    }
    if (found.shape.without_leading_ones() != shape.without_leading_ones()) {
      Error error = Error::of(Errc::shape_mismatch, "tensor ", name.view(), " has shape ");
      append_shape(error, found.shape).append(", expected ");
      set(append_shape(error, shape));
      return {};
    }
    return add_weight({name, found.dtype, shape, ir::Weight::kNoData, 0});
  }

  const OpTable* table_;
  WeightLookup lookup_;
  Graph graph_;
  const OpRow* expanding_ = nullptr;
  std::uint32_t origin_ = 0;
  bool error_ = false;
  Error first_{};
};

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
