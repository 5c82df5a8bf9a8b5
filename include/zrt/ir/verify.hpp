// SPDX-License-Identifier: Apache-2.0
// zrt/ir/verify.hpp: says whether a graph is well-formed, whoever built it, and what in it is odd.
#pragma once

#include <zrt/core/finding.hpp>
#include <zrt/ir/graph.hpp>

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

[[nodiscard]] inline std::unexpected<Error> at_node(Error error, std::size_t index, Opcode opcode) noexcept {
  return std::unexpected<Error>(error.at_instruction(static_cast<std::uint32_t>(index), number(opcode)));
}

[[nodiscard]] inline std::unexpected<Error> of_value(std::size_t value, std::unexpected<Error> error) noexcept {
  error.error().at_tensor(static_cast<std::uint32_t>(value));
  return error;
}

[[nodiscard]] inline bool known_shape(const Graph& g, const TensorType& type) noexcept {
  if (!is_dtype(static_cast<std::uint8_t>(type.dtype)) || type.shape.rank > kMaxRank) return false;
  for (std::uint8_t axis = 0; axis < type.shape.rank; ++axis)
    if (type.shape[axis].symbol > g.symbols.size()) return false;
  return true;
}

/// Ids in range, arity and parameters as the op says: what every later check relies on.
[[nodiscard]] inline Result<void> verify_node_form(const Graph& g, const OpTable& table, std::size_t index) noexcept {
  const Node& n = g.nodes[index];
  const OpRow* row = table[number(n.opcode)];
  auto bad = [&](Errc code, auto... pieces) { return at_node(Error::of(code, pieces...), index, n.opcode); };
  if (row == nullptr)
    return bad(Errc::unsupported_opcode, "opcode ", unsigned{number(n.opcode)}, " is not in the catalog");
  if (!row->takes_inputs(n.inputs) || !row->gives_outputs(n.outputs) || n.weights != row->weights.size() ||
      n.regions != row->regions.size())
    return bad(Errc::invalid_argument, row->name, ": ", unsigned{n.inputs}, " inputs, ", unsigned{n.outputs},
               " outputs, ", unsigned{n.weights}, " weights and ", unsigned{n.regions}, " regions do not match the op");
  if (std::uint64_t{n.first_operand} + Graph::operand_count(n) > g.operands.size() ||
      std::uint64_t{n.params_offset} + n.params_bytes > g.params.size())
    return bad(Errc::invalid_argument, row->name, ": operands or parameters lie outside their pool");
  for (std::uint32_t w : g.node_weights(n))
    if (w != kNone && w >= g.weights.size())
      return bad(Errc::missing_weight, row->name, ": weight id ", w, " names none");
  for (std::uint32_t region : g.node_regions(n))
    if (region >= g.regions.size()) return bad(Errc::dangling_value, row->name, ": region ", region, " is none");
  if (n.state.present() && n.state.index >= g.states.size())
    return bad(Errc::invalid_state, row->name, ": state id ", n.state.index, " names none");
  if (row->lifecycle != StateLifecycle::none &&
      (!n.state.present() || g.states[n.state.index].lifecycle != row->lifecycle))
    return bad(Errc::invalid_state, row->name, ": the state's lifecycle is not the op's");
  for (std::uint32_t mark : g.node_in_place(n))
    if (mark > n.inputs) return bad(Errc::undeclared_in_place, row->name, ": input ", mark - 1, " does not exist");
  return {};
}

/// Every rule that the rest of the library relies on, up to the first that is broken. Regions have been checked.
[[nodiscard]] inline Result<void> verify_graph(const Graph& g, const OpTable& table, std::size_t depth) noexcept {
  if (g.symbols.size() >= kMaxSymbols)
    return fail(Errc::limit_exceeded, "a graph has at most ", kMaxSymbols - 1, " symbols");
  if (depth != 0 && !g.states.empty()) return fail(Errc::invalid_state, "a region has state of its own");
  Vector<std::uint8_t> region_used(g.allocator);
  if (auto r = region_used.resize(g.regions.size()); !r) return r;
  for (const Graph& region : g.regions) {
    if (!fits_region(region) || region.symbols.size() != g.symbols.size())
      return fail(Errc::invalid_argument, "a region's border or symbols do not fit the graph around it");
  }
  constexpr std::uint32_t kUnseen = kNone;
  constexpr std::uint32_t kGraphInput = kNone - 1;
  Vector<std::uint32_t> producer(g.allocator);    // node, kGraphInput, or kUnseen so far
  Vector<std::uint32_t> overwriter(g.allocator);  // node that wrote in place over the value, or kUnseen
  if (auto r = producer.resize(g.values.size()); !r) return r;
  if (auto r = overwriter.resize(g.values.size()); !r) return r;
  for (std::size_t v = 0; v < g.values.size(); ++v) {
    producer[v] = overwriter[v] = kUnseen;
    if (!known_shape(g, g.values[v].type))
      return of_value(v, fail(Errc::shape_mismatch, "value ", v, " has a type, rank or symbol that is not known"));
  }
  for (const Weight& w : g.weights) {
    if (!is_dtype(static_cast<std::uint8_t>(w.dtype)) || w.shape.rank > kMaxRank)
      return fail(Errc::dtype_mismatch, "weight ", w.name.view(), " has an unknown type");
    if (!whole_blocks(w.dtype, w.shape))
      return fail(Errc::shape_mismatch, "weight ", w.name.view(),
                  " has a symbol in its shape, or rows that are not whole blocks");
    if (!w.name.fits()) return fail(Errc::limit_exceeded, "a weight's name is longer than ", Name::kCapacity, " bytes");
    if (w.inline_data()) {
      const CheckedSize bytes = bytes_of(w.dtype, w.shape.elements({}));
      const CheckedSize end = CheckedSize(w.data_offset) + w.data_bytes;
      if (!bytes.ok() || !end.ok() || end.raw() > g.constants.size() || w.data_bytes != bytes.raw())
        return fail(Errc::shape_mismatch, "weight ", w.name.view(), ": its data does not have the size of its shape");
    }
  }
  for (std::size_t s = 0; s < g.states.size(); ++s)
    if (!is_known(g.states[s])) return fail(Errc::invalid_state, "state ", s, " has an unknown class or type");
  for (const Port& port : g.inputs) {
    if (port.value.index >= g.values.size())
      return fail(Errc::dangling_value, "input ", port.name.view(), " names no value");
    if (producer[port.value.index] != kUnseen)
      return fail(Errc::overlapping_writers, "input ", port.name.view(), " names a value that is an input already");
    producer[port.value.index] = kGraphInput;
  }
  for (std::size_t index = 0; index < g.nodes.size(); ++index) {
    if (auto r = verify_node_form(g, table, index); !r) return r;
    const Node& n = g.nodes[index];
    const OpRow* row = table[number(n.opcode)];
    auto bad = [&](Errc code, auto... pieces) { return at_node(Error::of(code, pieces...), index, n.opcode); };
    const auto inputs = g.node_inputs(n);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::uint32_t v = inputs[i];
      if (v == kNone && row->input(i).optional) continue;
      if (v >= g.values.size() || producer[v] == kUnseen)
        return of_value(v, bad(Errc::dangling_value, row->name, ": input ", row->input(i).name, " reads value ", v,
                               ", which nothing before it produces"));
      if (overwriter[v] != kUnseen) {
        Error error = Error::of(Errc::unordered_read, row->name, ": input ", row->input(i).name, " reads value ", v,
                                " after node ", overwriter[v], " wrote over it");
        error.on_wire(overwriter[v], static_cast<std::uint32_t>(index));
        return of_value(v, at_node(error, index, n.opcode));
      }
    }
    for (std::uint32_t region : g.node_regions(n)) {
      if (region_used[region] != 0)
        return bad(Errc::invalid_argument, row->name, ": region ", region, " has two nodes");
      region_used[region] = 1;
    }
    OperandStorage storage;
    std::array<TensorType, kMaxOperands> types;
    const auto count = row->infer(g.operand_info(n, storage), types);
    if (!count) return at_node(count.error(), index, n.opcode);
    if (*count != n.outputs)
      return bad(Errc::invalid_argument, row->name, ": ", unsigned{n.outputs}, " outputs, the op gives ", *count);
    const auto outputs = g.node_outputs(n);
    const auto marks = g.node_in_place(n);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::uint32_t v = outputs[i];
      if (v >= g.values.size())
        return bad(Errc::dangling_value, row->name, ": output ", row->output(i).name, " names no value");
      if (producer[v] != kUnseen)
        return of_value(v, bad(Errc::overlapping_writers, row->name, ": value ", v, " has another producer already"));
      producer[v] = static_cast<std::uint32_t>(index);
      const TensorType& recorded = g.values[v].type;
      if (recorded.dtype != types[i].dtype)
        return of_value(v, bad(Errc::dtype_mismatch, row->name, ": output ", row->output(i).name, " is recorded as ",
                               name(recorded.dtype), ", the op gives ", name(types[i].dtype)));
      if (!(recorded.shape == types[i].shape)) {
        Error error = Error::of(Errc::shape_mismatch, row->name, ": output ", row->output(i).name, " is recorded as ");
        append_shape(error, recorded.shape).append(", the op gives ");
        return of_value(v, at_node(append_shape(error, types[i].shape), index, n.opcode));
      }
      if (recorded.shape.rank > row->max_rank)
        return of_value(v, bad(Errc::unsupported_tensor_rank, row->name, ": output ", row->output(i).name, " has ",
                               unsigned{recorded.shape.rank}, " axes, at most ", unsigned{row->max_rank}, " expected"));
      if (marks[i] == 0) continue;
      bool allowed = false;
      for (const Alias& alias : row->may_alias)
        allowed = allowed || (alias.output == i && alias.input + 1u == marks[i]);
      const std::uint32_t target = inputs[marks[i] - 1];
      if (!allowed || target == kNone)
        return bad(Errc::undeclared_in_place, row->name, ": output ", row->output(i).name,
                   " may not be written over input ", marks[i] - 1);
      if (overwriter[target] != kUnseen)
        return of_value(target,
                        bad(Errc::overlapping_writers, row->name, ": value ", target, " is written over twice"));
      overwriter[target] = static_cast<std::uint32_t>(index);
    }
  }
  for (const Port& port : g.outputs) {
    const std::uint32_t v = port.value.index;
    if (v >= g.values.size() || producer[v] == kUnseen)
      return of_value(v,
                      fail(Errc::dangling_value, "output ", port.name.view(), " names a value that nothing produces"));
    if (overwriter[v] != kUnseen)
      return of_value(v, fail(Errc::unordered_read, "output ", port.name.view(), " names a value that node ",
                              overwriter[v], " wrote over"));
  }
  return {};
}

}  // namespace detail

/// What is wrong with a graph and with its regions (at most one error: the search ends there) and what is odd: a
/// value that a node gives and nobody reads is a warning.
///
/// Errors: Errc::out_of_memory.
[[nodiscard]] inline Result<Vector<Finding>> findings(const Graph& g, const OpTable& table,
                                                      std::size_t depth = 0) noexcept {
  Vector<Finding> list(g.allocator);
  auto add = [&](Severity severity, Error error) -> Result<void> {
    Finding finding{severity, error.in_phase(Phase::graph), {}};
    if (error.tensor() < g.values.size()) finding.type = g.values[error.tensor()].type;
    return list.push_back(finding);
  };
  if (depth > kMaxRegionDepth) {
    if (auto r = add(Severity::error, Error::of(Errc::limit_exceeded, "regions lie deeper than ", kMaxRegionDepth)); !r)
      return pass(r);
    return list;
  }
  for (const Graph& region : g.regions) {
    auto inner = findings(region, table, depth + 1);
    if (!inner) return pass(inner);
    if (auto r = list.append(inner->span()); !r) return pass(r);
    if (!list.empty() && list.back().severity == Severity::error) return list;
  }
  if (auto checked = detail::verify_graph(g, table, depth); !checked) {
    if (checked.error().code() == Errc::out_of_memory) return pass(checked);
    if (auto r = add(Severity::error, checked.error()); !r) return pass(r);
    return list;
  }
  Vector<std::uint8_t> read(g.allocator);
  if (auto r = read.resize(g.values.size()); !r) return pass(r);
  for (const Node& n : g.nodes)
    for (std::uint32_t v : g.node_inputs(n))
      if (v != kNone) read[v] = 1;
  for (const Port& port : g.outputs) read[port.value.index] = 1;
  for (std::size_t index = 0; index < g.nodes.size(); ++index) {
    const Node& n = g.nodes[index];
    for (std::uint32_t v : g.node_outputs(n)) {
      if (read[v] != 0) continue;
      Error error = Error::of(Errc::dangling_value, table[number(n.opcode)]->name, ": value ", v, " ");
      append_shape(error, g.values[v].type.shape).append(" is never read").at_tensor(v);
      if (auto r = add(Severity::warning, error.at_instruction(static_cast<std::uint32_t>(index), number(n.opcode)));
          !r)
        return pass(r);
    }
  }
  return list;
}

/// Judges a graph; the error is the first finding that counts at that level.
///
/// Errors: unsupported_opcode, invalid_param_block_abi, dangling_value (read before it is produced, or
/// never), overlapping_writers (two producers, or two in-place writes of one value),
/// undeclared_in_place, unordered_read (read after an in-place write), shape_mismatch and
/// dtype_mismatch (the recorded type is not the one the op's rule gives), unsupported_tensor_rank,
/// invalid_state (also for state within a region), missing_weight, limit_exceeded (regions nested too deep).
[[nodiscard]] inline Result<void> verify(const Graph& g, const OpTable& table,
                                         Validation level = Validation::normal) noexcept {
  if (level == Validation::none) return {};
  auto list = findings(g, table);
  if (!list) return pass(list);
  for (const Finding& finding : *list)
    if (fails(finding.severity, level)) return std::unexpected<Error>(finding.error);
  return {};
}

}  // namespace zrt::inline ZRT_ABI::ir
