// SPDX-License-Identifier: Apache-2.0
// zrt/ir/verify.hpp: checks that a graph is well-formed, whoever built it, and warns of unused values.
#pragma once

#include <zrt/core/finding.hpp>
#include <zrt/ir/graph.hpp>

ZRT_LOAD_TIME_BEGIN

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

/// A node of a graph beside its op, for the checks that name both.
struct NodeSite {
  const Node& node;
  const OpRow* row;
  std::size_t index;

  /// The error of this node; the pieces follow the op's name.
  template <class... Pieces>
  [[nodiscard]] std::unexpected<Error> bad(Errc code, const Pieces&... pieces) const noexcept {
    return at_node(Error::of(code, row->name, ": ", pieces...), index, node.opcode);
  }
};

/// Checks that a node has as many operands as its op takes, all within the graph's pools.
[[nodiscard]] inline Result<void> verify_arity(const Graph& g, const NodeSite& at) noexcept {
  const Node& n = at.node;
  if (!at.row->takes_inputs(n.inputs) || !at.row->gives_outputs(n.outputs) || n.weights != at.row->weights.size() ||
      n.regions != at.row->regions.size())
    return at.bad(Errc::invalid_argument, unsigned{n.inputs}, " inputs, ", unsigned{n.outputs}, " outputs, ",
                  unsigned{n.weights}, " weights and ", unsigned{n.regions}, " regions do not match the op");
  if (std::uint64_t{n.first_operand} + Graph::operand_count(n) > g.operands.size() ||
      std::uint64_t{n.params_offset} + n.params_bytes > g.params.size())
    return at.bad(Errc::invalid_argument, "operands or parameters lie outside their pool");
  return {};
}

/// Checks that weights, regions, state and in-place marks of a node exist.
[[nodiscard]] inline Result<void> verify_ids(const Graph& g, const NodeSite& at) noexcept {
  const Node& n = at.node;
  for (std::uint32_t w : g.node_weights(n))
    if (w != kNone && w >= g.weights.size()) return at.bad(Errc::missing_weight, "weight id ", w, " names none");
  for (std::uint32_t region : g.node_regions(n))
    if (region >= g.regions.size()) return at.bad(Errc::dangling_value, "region ", region, " is none");
  if (n.state.present() && n.state.index >= g.states.size())
    return at.bad(Errc::invalid_state, "state id ", n.state.index, " names none");
  if (at.row->lifecycle != StateLifecycle::none &&
      (!n.state.present() || g.states[n.state.index].lifecycle != at.row->lifecycle))
    return at.bad(Errc::invalid_state, "the state's lifecycle is not the op's");
  for (std::uint32_t mark : g.node_in_place(n))
    if (mark > n.inputs) return at.bad(Errc::undeclared_in_place, "input ", mark - 1, " does not exist");
  return {};
}

/// Checks ids, arity and parameters. All later checks rely on it.
[[nodiscard]] inline Result<void> verify_node_form(const Graph& g, const OpTable& table, std::size_t index) noexcept {
  const Node& n = g.nodes[index];
  const OpRow* row = table[number(n.opcode)];
  if (row == nullptr)
    return at_node(Error::of(Errc::unsupported_opcode, "opcode ", unsigned{number(n.opcode)}, " is not in the catalog"),
                   index, n.opcode);
  const NodeSite at{n, row, index};
  if (auto r = verify_arity(g, at); !r) return r;
  return verify_ids(g, at);
}

/// Checks that a weight has a known type and rows of whole blocks, and, if it is inline, as many bytes as its shape
/// says.
[[nodiscard]] inline Result<void> verify_weight(const Graph& g, const Weight& w) noexcept {
  if (!is_dtype(static_cast<std::uint8_t>(w.dtype)) || w.shape.rank > kMaxRank)
    return fail(Errc::dtype_mismatch, "weight ", w.name.view(), " has an unknown type");
  if (!whole_blocks(w.dtype, w.shape))
    return fail(Errc::shape_mismatch, "weight ", w.name.view(),
                " has a symbol in its shape, or rows that are not whole blocks");
  if (!w.name.fits()) return fail(Errc::limit_exceeded, "a weight's name is longer than ", Name::kCapacity, " bytes");
  if (!w.inline_data()) return {};
  const CheckedSize bytes = bytes_of(w.dtype, w.shape.elements({}));
  const CheckedSize end = CheckedSize(w.data_offset) + w.data_bytes;
  if (!bytes.ok() || !end.ok() || end.raw() > g.constants.size() || w.data_bytes != bytes.raw())
    return fail(Errc::shape_mismatch, "weight ", w.name.view(), ": its data does not have the size of its shape");
  return {};
}

/// Checks one graph up to the first rule that is broken. Its regions have been checked.
class GraphVerifier {
 public:
  GraphVerifier(const Graph& g, const OpTable& table) noexcept
      : g_(g), table_(table), producer_(g.allocator), overwriter_(g.allocator), region_used_(g.allocator) {}

  /// `depth` counts the graphs around this one.
  [[nodiscard]] Result<void> run(std::size_t depth) noexcept {
    if (auto r = check_border(depth); !r) return r;
    if (auto r = check_values(); !r) return r;
    for (const Weight& w : g_.weights)
      if (auto r = verify_weight(g_, w); !r) return r;
    for (std::size_t s = 0; s < g_.states.size(); ++s)
      if (!is_known(g_.states[s])) return fail(Errc::invalid_state, "state ", s, " has an unknown class or type");
    for (const Port& port : g_.inputs)
      if (auto r = check_input(port); !r) return r;
    for (std::size_t index = 0; index < g_.nodes.size(); ++index)
      if (auto r = check_node(index); !r) return r;
    for (const Port& port : g_.outputs)
      if (auto r = check_output(port); !r) return r;
    return {};
  }

 private:
  static constexpr std::uint32_t kUnseen = kNone;
  static constexpr std::uint32_t kGraphInput = kNone - 1;
  using Types = std::array<TensorType, kMaxOperands>;

  /// Checks that symbols keep their limit, that no region has state, and that regions fit this graph.
  [[nodiscard]] Result<void> check_border(std::size_t depth) noexcept {
    if (g_.symbols.size() >= kMaxSymbols)
      return fail(Errc::limit_exceeded, "a graph has at most ", kMaxSymbols - 1, " symbols");
    if (depth != 0 && !g_.states.empty()) return fail(Errc::invalid_state, "a region has state of its own");
    for (const Graph& region : g_.regions)
      if (!fits_region(region) || region.symbols.size() != g_.symbols.size())
        return fail(Errc::invalid_argument, "a region's border or symbols do not fit the graph around it");
    return region_used_.resize(g_.regions.size());
  }

  [[nodiscard]] Result<void> check_values() noexcept {
    if (auto r = producer_.resize(g_.values.size()); !r) return r;
    if (auto r = overwriter_.resize(g_.values.size()); !r) return r;
    for (std::size_t v = 0; v < g_.values.size(); ++v) {
      producer_[v] = overwriter_[v] = kUnseen;
      if (!known_shape(g_, g_.values[v].type))
        return of_value(v, fail(Errc::shape_mismatch, "value ", v, " has a type, rank or symbol that is not known"));
    }
    return {};
  }

  [[nodiscard]] Result<void> check_input(const Port& port) noexcept {
    const std::uint32_t v = port.value.index;
    if (v >= g_.values.size()) return fail(Errc::dangling_value, "input ", port.name.view(), " names no value");
    if (producer_[v] != kUnseen)
      return fail(Errc::overlapping_writers, "input ", port.name.view(), " names a value that is an input already");
    producer_[v] = kGraphInput;
    return {};
  }

  [[nodiscard]] Result<void> check_output(const Port& port) const noexcept {
    const std::uint32_t v = port.value.index;
    if (!is_produced(v))
      return of_value(v,
                      fail(Errc::dangling_value, "output ", port.name.view(), " names a value that nothing produces"));
    if (overwriter_[v] != kUnseen)
      return of_value(v, fail(Errc::unordered_read, "output ", port.name.view(), " names a value that node ",
                              overwriter_[v], " wrote over"));
    return {};
  }

  /// Checks one node: form, reads, regions, the op's shape rule, then its outputs.
  [[nodiscard]] Result<void> check_node(std::size_t index) noexcept {
    if (auto r = verify_node_form(g_, table_, index); !r) return r;
    const NodeSite at{g_.nodes[index], table_[number(g_.nodes[index].opcode)], index};
    for (std::size_t i = 0; i < at.node.inputs; ++i)
      if (auto r = check_read(at, i); !r) return r;
    if (auto r = claim_regions(at); !r) return r;
    Types types;
    if (auto r = infer(at, types); !r) return r;
    for (std::size_t i = 0; i < at.node.outputs; ++i) {
      if (auto r = check_result(at, i, types[i]); !r) return r;
      if (auto r = mark_overwritten(at, i); !r) return r;
    }
    return {};
  }

  /// Checks that input `i` was produced before and not overwritten since.
  [[nodiscard]] Result<void> check_read(const NodeSite& at, std::size_t i) const noexcept {
    const std::uint32_t v = g_.node_inputs(at.node)[i];
    const Role& role = at.row->input(i);
    if (v == kNone && role.optional) return {};
    if (!is_produced(v))
      return of_value(v, at.bad(Errc::dangling_value, "input ", role.name, " reads value ", v,
                                ", which nothing before it produces"));
    if (overwriter_[v] == kUnseen) return {};
    std::unexpected<Error> error = at.bad(Errc::unordered_read, "input ", role.name, " reads value ", v, " after node ",
                                          overwriter_[v], " wrote over it");
    error.error().on_wire(overwriter_[v], static_cast<std::uint32_t>(at.index));
    return of_value(v, error);
  }

  /// Checks that each region belongs to one node.
  [[nodiscard]] Result<void> claim_regions(const NodeSite& at) noexcept {
    for (std::uint32_t region : g_.node_regions(at.node)) {
      if (region_used_[region] != 0) return at.bad(Errc::invalid_argument, "region ", region, " has two nodes");
      region_used_[region] = 1;
    }
    return {};
  }

  /// Runs the op's shape rule on the node's operands.
  [[nodiscard]] Result<void> infer(const NodeSite& at, Types& types) const noexcept {
    OperandStorage storage;
    const auto count = at.row->infer(g_.operand_info(at.node, storage), types);
    if (!count) return at_node(count.error(), at.index, at.node.opcode);
    if (*count != at.node.outputs)
      return at.bad(Errc::invalid_argument, unsigned{at.node.outputs}, " outputs, the op gives ", *count);
    return {};
  }

  /// Checks that output `i` is its value's only producer, and that the recorded type is the rule's.
  [[nodiscard]] Result<void> check_result(const NodeSite& at, std::size_t i, const TensorType& given) noexcept {
    const std::uint32_t v = g_.node_outputs(at.node)[i];
    const std::string_view role = at.row->output(i).name;
    if (v >= g_.values.size()) return at.bad(Errc::dangling_value, "output ", role, " names no value");
    if (producer_[v] != kUnseen)
      return of_value(v, at.bad(Errc::overlapping_writers, "value ", v, " has another producer already"));
    producer_[v] = static_cast<std::uint32_t>(at.index);
    const TensorType& recorded = g_.values[v].type;
    if (recorded.dtype != given.dtype)
      return of_value(v, at.bad(Errc::dtype_mismatch, "output ", role, " is recorded as ", name(recorded.dtype),
                                ", the op gives ", name(given.dtype)));
    if (!(recorded.shape == given.shape)) {
      std::unexpected<Error> error = at.bad(Errc::shape_mismatch, "output ", role, " is recorded as ");
      append_shape(append_shape(error.error(), recorded.shape).append(", the op gives "), given.shape);
      return of_value(v, error);
    }
    if (recorded.shape.rank > at.row->max_rank)
      return of_value(v, at.bad(Errc::unsupported_tensor_rank, "output ", role, " has ", unsigned{recorded.shape.rank},
                                " axes, at most ", unsigned{at.row->max_rank}, " expected"));
    return {};
  }

  /// Checks an in-place output: the op allows it, and nothing else overwrites that input.
  [[nodiscard]] Result<void> mark_overwritten(const NodeSite& at, std::size_t i) noexcept {
    const std::uint32_t mark = g_.node_in_place(at.node)[i];
    if (mark == 0) return {};
    bool allowed = false;
    for (const Alias& alias : at.row->may_alias) allowed = allowed || (alias.output == i && alias.input + 1u == mark);
    const std::uint32_t target = g_.node_inputs(at.node)[mark - 1];
    if (!allowed || target == kNone)
      return at.bad(Errc::undeclared_in_place, "output ", at.row->output(i).name, " may not be written over input ",
                    mark - 1);
    if (overwriter_[target] != kUnseen)
      return of_value(target, at.bad(Errc::overlapping_writers, "value ", target, " is written over twice"));
    overwriter_[target] = static_cast<std::uint32_t>(at.index);
    return {};
  }

  [[nodiscard]] bool is_produced(std::uint32_t v) const noexcept {
    return v < g_.values.size() && producer_[v] != kUnseen;
  }

  const Graph& g_;
  const OpTable& table_;
  Vector<std::uint32_t> producer_;    ///< by value: its node, kGraphInput, or kUnseen so far
  Vector<std::uint32_t> overwriter_;  ///< by value: the node that wrote in place over it, or kUnseen
  Vector<std::uint8_t> region_used_;
};

}  // namespace detail

namespace detail {

[[nodiscard]] inline Result<void> add_finding(const Graph& g, Severity severity, Error error,
                                              Vector<Finding>& list) noexcept {
  Finding finding{severity, error.in_phase(Phase::graph), {}};
  if (error.tensor() < g.values.size()) finding.type = g.values[error.tensor()].type;
  return list.push_back(finding);
}

/// Returns, by value of a well-formed graph, 1 if a node or an output reads it.
[[nodiscard]] inline Result<Vector<std::uint8_t>> values_read(const Graph& g) noexcept {
  Vector<std::uint8_t> read(g.allocator);
  if (auto r = read.resize(g.values.size()); !r) return pass(r);
  for (const Node& n : g.nodes)
    for (std::uint32_t v : g.node_inputs(n))
      if (v != kNone) read[v] = 1;
  for (const Port& port : g.outputs) read[port.value.index] = 1;
  return read;
}

/// Adds a warning for each result that nobody reads.
[[nodiscard]] inline Result<void> add_unread(const Graph& g, const OpTable& table, Vector<Finding>& list) noexcept {
  const auto read = values_read(g);
  if (!read) return pass(read);
  for (std::size_t index = 0; index < g.nodes.size(); ++index) {
    const Node& n = g.nodes[index];
    for (std::uint32_t v : g.node_outputs(n)) {
      if ((*read)[v] != 0) continue;
      Error error = Error::of(Errc::dangling_value, table[number(n.opcode)]->name, ": value ", v, " ");
      append_shape(error, g.values[v].type.shape).append(" is never read").at_tensor(v);
      error.at_instruction(static_cast<std::uint32_t>(index), number(n.opcode));
      if (auto r = add_finding(g, Severity::warning, error, list); !r) return r;
    }
  }
  return {};
}

/// Adds the findings of a graph after those of its regions; an error is the last.
[[nodiscard]] inline Result<void> add_findings(const Graph& g, const OpTable& table, std::size_t depth,
                                               Vector<Finding>& list) noexcept {
  if (depth > kMaxRegionDepth)
    return add_finding(g, Severity::error, Error::of(Errc::limit_exceeded, "regions lie deeper than ", kMaxRegionDepth),
                       list);
  for (const Graph& region : g.regions) {
    if (auto r = add_findings(region, table, depth + 1, list); !r) return r;
    if (!list.empty() && list.back().severity == Severity::error) return {};
  }
  const auto checked = GraphVerifier(g, table).run(depth);
  if (checked) return add_unread(g, table, list);
  if (checked.error().code() == Errc::out_of_memory) return checked;
  return add_finding(g, Severity::error, checked.error(), list);
}

}  // namespace detail

/// Returns the findings about a graph and its regions: at most one error, where the search ends, and a warning for each
/// result that nobody reads.
///
/// Errors: Errc::out_of_memory.
[[nodiscard]] inline Result<Vector<Finding>> findings(const Graph& g, const OpTable& table) noexcept {
  Vector<Finding> list(g.allocator);
  if (auto r = detail::add_findings(g, table, 0, list); !r) return pass(r);
  return list;
}

/// Verifies a graph. The error is the first finding that counts at the validation level.
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

ZRT_LOAD_TIME_END
