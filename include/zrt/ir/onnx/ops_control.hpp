// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_control.hpp: If, Loop and Scan: graphs within nodes, as regions, or read in place where what
// decides is known.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_shape.hpp>
#include <zrt/ir/onnx/reader.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// The graph in an attribute.
[[nodiscard]] inline std::optional<GraphView> graph_of(NodeCall& n, std::string_view key) noexcept {
  const AttributeView* a = n.attribute(key, AttributeType::graph);
  if (a == nullptr) {
    n.fail(Errc::invalid_file, key, " is missing");
    return {};
  }
  if (!n.reader().may_read_again(a->graph.size())) {
    n.fail(Errc::limit_exceeded, "graphs within nodes are read too often");
    return {};
  }
  auto graph = read_graph(a->graph, n.allocator());
  if (!graph) {
    n.fail(graph.error());
    return {};
  }
  return std::move(*graph);
}

/// `v` with another tensor for each of its own, which `next` gives for it.
template <class F> [[nodiscard]] Value remade(NodeCall& n, const Value& v, F&& next) noexcept {
  if (v.absent) return v;
  const auto of_its_kind = [&](const Value& tensor) {
    Value made = next(tensor);
    made.strings = tensor.strings;
    return made;
  };
  if (!v.sequence) return of_its_kind(v);
  Vector<Value> values(n.allocator());
  for (const Value& tensor : *v.sequence)
    if (auto r = values.push_back(of_its_kind(tensor)); !r) n.fail(r.error());
  if (n.failed()) return v;
  const auto made = n.reader().sequence_of(std::move(values));
  if (made) return *made;
  n.fail(made.error());
  return v;
}

/// Values from outside that a graph reads and that are computed: their tensors enter its region as parameters.
struct Captures {
  explicit Captures(Allocator a) noexcept : names(a) {}

  Vector<std::string_view> names;
  std::size_t tensors = 0;  ///< of all of them that are computed

  [[nodiscard]] Result<void> add(const GraphView& graph, Scope& outer, const Allocator& a,
                                 std::size_t depth = 0) noexcept {
    if (depth > kMaxGraphDepth)
      return fail(Errc::limit_exceeded, "graphs are nested more than ", kMaxGraphDepth, " deep");
    const auto add_name = [&](std::string_view name) -> Result<void> {
      for (const std::string_view had : names)
        if (had == name) return {};
      // A name that the graph defines itself is not looked up outside by its nodes; carrying it in is harmless.
      const Value* v = name.empty() ? nullptr : outer.find(name);
      std::size_t computed = 0;
      if (v != nullptr)
        for (const Value& tensor : tensors_of(*v)) computed += tensor.known ? 0 : 1;
      tensors += computed;
      return computed == 0 ? Result<void>{} : names.push_back(name);
    };
    for (const NodeView& node : graph.nodes) {
      for (const std::string_view name : node.inputs)
        if (auto r = add_name(name); !r) return r;
      for (const AttributeView& attribute : node.attributes) {
        if (attribute.graph.empty()) continue;
        const auto inner = read_graph(attribute.graph, a);
        if (!inner) return pass(inner);
        if (auto r = add(*inner, outer, a, depth + 1); !r) return r;
      }
    }
    for (const ValueView& output : graph.outputs)
      if (auto r = add_name(output.name); !r) return r;
    return {};
  }
};

/// Reads a graph in place: its inputs are `arguments`, its results are appended to `results`.
inline void inline_graph(NodeCall& n, const GraphView& graph, Scope& scope, Span<const Value> arguments,
                         Vector<Value>& results) noexcept {
  if (graph.inputs.size() != arguments.size())
    return n.fail(Errc::invalid_file, "a graph takes ", graph.inputs.size(), " values, ", arguments.size(),
                  " are given");
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (auto r = scope.add(graph.inputs[i].name, arguments[i]); !r) return n.fail(r.error());
  if (auto r = n.reader().read_initializers(graph, scope); !r) return n.fail(r.error());
  if (auto r = n.reader().read_nodes(graph.nodes.span(), scope); !r) return n.fail(r.error());
  for (const ValueView& output : graph.outputs) {
    const Value* v = scope.find(output.name);
    if (v == nullptr)
      return n.fail(Errc::dangling_value, "a graph's output ", zrt::slice(output.name, 0, 60),
                    " is computed by no node");
    if (auto r = results.push_back(*v); !r) return n.fail(r.error());
  }
}
/// A tensor that a region may give: an instruction's, not a literal.
[[nodiscard]] inline Tensor given_tensor(NodeCall& n, const Value& v) noexcept {
  return v.known ? n.b().constant(v.type, v.data) : n.tensor_of(v);
}
/// Adds parameters for captured values to the region under construction.
inline void enter(NodeCall& n, const Captures& captures, Scope& inner, Vector<Tensor>& parameters) noexcept {
  for (const std::string_view name : captures.names) {
    const Value v = *n.scope().find(name);
    const Value entered = remade(n, v, [&](const Value& tensor) -> Value {
      if (tensor.known) return tensor;
      const Tensor p = n.b().parameter(tensor.type, v.sequence ? Name() : Reader::named(name));
      if (auto r = parameters.push_back(p); !r) n.fail(r.error());
      return {tensor.type, p, {}, false};
    });
    if (auto r = inner.add(name, entered); !r) n.fail(r.error());
  }
}
/// Adds what captured values are made of to the operands of an instruction with regions.
inline void add_captured(NodeCall& n, const Captures& captures, Vector<Tensor>& operands) noexcept {
  for (const std::string_view name : captures.names)
    for (const Value& tensor : tensors_of(*n.scope().find(name)))
      if (!tensor.known)
        if (auto r = operands.push_back(n.tensor_of(tensor)); !r) n.fail(r.error());
}
[[nodiscard]] inline Tensor scalar_of(const Tensor& x) noexcept { return reshape(x, {}); }

/// True when two values are made of tensors of the same types.
[[nodiscard]] inline bool are_alike(const Value& a, const Value& b) noexcept {
  const Span<const Value> p = tensors_of(a);
  const Span<const Value> q = tensors_of(b);
  if (a.absent != b.absent || a.sequence.has_value() != b.sequence.has_value() || p.size() != q.size()) return false;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (!(p[i].type == q[i].type) || p[i].strings != q[i].strings) return false;
  return true;
}
inline void if_(NodeCall& n) noexcept {
  Builder& b = n.b();
  const Value pred = n.value(0);
  const auto on_true = graph_of(n, "then_branch");
  const auto on_false = graph_of(n, "else_branch");
  if (n.failed()) return;
  if (pred.known && !pred.data.empty()) {
    Scope inner(n.allocator(), &n.scope());
    Vector<Value> results(n.allocator());
    inline_graph(n, pred.data[0] != std::byte{0} ? *on_true : *on_false, inner, {}, results);
    for (std::size_t i = 0; i < results.size() && i < n.outputs() && !n.failed(); ++i)
      if (n.has_out(i)) n.bind(n.node().outputs[i], results[i]);
    return;
  }
  Captures captures(n.allocator());
  for (const GraphView* graph : {&*on_true, &*on_false})
    if (auto r = captures.add(*graph, n.scope(), n.allocator()); !r) return n.fail(r.error());
  const auto region = [&](const GraphView& graph, Vector<Value>& results) {
    return b.region(Reader::named(graph.name), [&] {
      Scope inner(n.allocator(), &n.scope());
      Vector<Tensor> parameters(n.allocator());
      enter(n, captures, inner, parameters);
      inline_graph(n, graph, inner, {}, results);
      for (const Value& v : results)
        for (const Value& tensor : tensors_of(v))
          if (!n.failed()) b.result(given_tensor(n, tensor));
    });
  };
  Vector<Value> when(n.allocator());
  Vector<Value> otherwise(n.allocator());
  const ptir::RegionId yes = region(*on_true, when);
  const ptir::RegionId no = region(*on_false, otherwise);
  if (n.failed()) return;
  if (when.size() != n.outputs() || otherwise.size() != n.outputs())
    return n.fail(Errc::invalid_file, "the branches give ", when.size(), " and ", otherwise.size(),
                  " values, the node ", n.outputs());
  // What differs between the branches only a known condition decides.
  for (std::size_t i = 0; i < when.size(); ++i)
    if (!are_alike(when[i], otherwise[i]) && !n.need_known(pred, 0, "the condition of branches whose results differ"))
      return;
  Vector<Tensor> operands(n.allocator());
  if (auto r = operands.push_back(scalar_of(n.tensor_of(pred))); !r) return n.fail(r.error());
  add_captured(n, captures, operands);
  if (n.failed()) return;
  const ptir::Results results = b.emit("cond", operands.span(), {Attribute::region(yes), Attribute::region(no)});
  std::size_t next = 0;
  for (std::size_t i = 0; i < when.size() && !n.failed(); ++i) {
    const Value given = remade(n, when[i], [&](const Value&) -> Value {
      const Tensor y = results[next++];
      return {y.type(), y, {}, false};
    });
    if (n.has_out(i)) n.bind(n.node().outputs[i], given);
  }
}

/// Entry `i` of the first axis of x.
[[nodiscard]] inline Tensor entry_of(NodeCall& n, const Tensor& x, std::int64_t i) noexcept {
  const IntList shape = n.shape(x);
  IntList left;
  for (std::size_t axis = 1; axis < shape.size(); ++axis) left.push(shape[axis]);
  return reshape(slice_axis(x, shape, 0, i, 1), left);
}
/// x as one entry of a new first axis.
[[nodiscard]] inline Tensor as_entry(NodeCall& n, const Tensor& x) noexcept {
  IntList shape{1};
  for (const std::int64_t extent : n.shape(x)) shape.push(extent);
  return reshape(x, shape);
}
[[nodiscard]] inline bool known_false(const Value& v) noexcept {
  return v.known && !v.data.empty() && v.data[0] == std::byte{0};
}
/// Refuses strings that a loop carries or stacks: its results are tensors alone.
inline void refuse_strings(NodeCall& n, Span<const Value> results) noexcept {
  for (const Value& v : results)
    if (holds_strings(v)) return n.unsupported("strings that a loop or a scan gives");
}
/// Reads the body once for each trip.
inline void unroll(NodeCall& n, const GraphView& body, std::int64_t trips) noexcept {
  Builder& b = n.b();
  Vector<Value> carried(n.allocator());
  std::array<std::byte, 1> yes{std::byte{1}};
  Value condition = n.has(1) ? n.value(1) : Value{{DType::i1, {}}, {}, yes, true};
  for (std::size_t i = 2; i < n.inputs(); ++i)
    if (auto r = carried.push_back(n.any_value(i)); !r) return n.fail(r.error());
  const std::size_t carries = carried.size();
  Vector<Vector<Tensor>> stacked(n.allocator());
  for (std::size_t i = carries; i < n.outputs(); ++i)
    if (auto r = stacked.push_back(Vector<Tensor>(n.allocator())); !r) return n.fail(r.error());
  for (std::int64_t trip = 0; trip < trips && !known_false(condition) && !n.failed(); ++trip) {
    Vector<std::byte> bytes(n.allocator());
    if (auto r = bytes.append(as_bytes(Span(&trip, 1))); !r) return n.fail(r.error());
    const auto kept = n.reader().keep(std::move(bytes));
    if (!kept) return n.fail(kept.error());
    Vector<Value> arguments(n.allocator());
    const auto add = [&](const Value& v) {
      if (auto r = arguments.push_back(v); !r) n.fail(r.error());
    };
    add({{DType::si64, {}}, {}, *kept, true});
    add(condition);
    for (const Value& v : carried) add(v);
    Scope inner(n.allocator(), &n.scope());
    Vector<Value> results(n.allocator());
    inline_graph(n, body, inner, arguments.span(), results);
    if (n.failed()) return;
    if (results.size() != 1 + n.outputs())
      return n.fail(Errc::invalid_file, "the body gives ", results.size(), " values");
    refuse_strings(n, results.span());
    condition = results[0];
    if (!condition.known)
      return n.unsupported("a loop with scan outputs, sequences or carries that grow whose condition is computed");
    for (std::size_t i = 0; i < carries; ++i) carried[i] = results[i + 1];
    for (std::size_t i = 0; i < stacked.size(); ++i) {
      if (auto r = stacked[i].push_back(as_entry(n, n.tensor_of(results[1 + carries + i]))); !r)
        return n.fail(r.error());
    }
  }
  if (n.failed()) return;
  for (std::size_t i = 0; i < carries && i < n.outputs(); ++i)
    if (n.has_out(i)) n.bind(n.node().outputs[i], carried[i]);
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    if (stacked[i].empty()) return n.unsupported("a loop with scan outputs and no trip");
    n.out(carries + i, concat(stacked[i].span(), 0, b));
  }
}
/// A loop that is left when the trips are done or its condition is false, as while_loop. Its carries are the
/// trip, the condition, what the loop carries, the number of trips and what the body captures. False, and nothing is
/// built, where a trip gives what the loop carries another type.
[[nodiscard]] inline bool while_region(NodeCall& n, const GraphView& body) noexcept {
  Builder& b = n.b();
  const std::size_t carries = n.inputs() - 2;
  Captures captures(n.allocator());
  if (auto r = captures.add(body, n.scope(), n.allocator()); !r) {
    n.fail(r.error());
    return true;
  }
  Vector<Tensor> operands(n.allocator());
  const auto add = [&](const Tensor& x) {
    if (auto r = operands.push_back(x); !r) n.fail(r.error());
  };
  add(b.scalar(DType::si64, 0));
  add(n.has(1) ? scalar_of(n.in(1)) : b.scalar(DType::i1, 1));
  for (std::size_t i = 2; i < n.inputs(); ++i) add(n.in(i));
  add(n.has(0) ? scalar_of(n.in(0)) : b.scalar(DType::si64, 0x1p62));
  add_captured(n, captures, operands);
  if (n.failed()) return true;
  const std::size_t limit = 2 + carries;
  bool keeps = true;
  const ptir::RegionId condition = b.region(Name("condition"), [&] {
    Vector<Tensor> p(n.allocator());
    for (const Tensor& x : operands)
      if (auto r = p.push_back(b.parameter(x.type())); !r) n.fail(r.error());
    if (n.failed()) return;
    b.result(b.mul(p[1], b.lt(p[0], p[limit])));
    for (const Tensor& x : p) b.result(x);
  });
  const ptir::RegionId step = b.region(Name("body"), [&] {
    Scope inner(n.allocator(), &n.scope());
    Vector<Value> arguments(n.allocator());
    Vector<Value> results(n.allocator());
    for (std::size_t i = 0; i < limit; ++i) {
      const Tensor p = b.parameter(operands[i].type());
      if (auto r = arguments.push_back({p.type(), p, {}, false}); !r) n.fail(r.error());
    }
    const Tensor trips = b.parameter(operands[limit].type());
    Vector<Tensor> outside(n.allocator());
    enter(n, captures, inner, outside);
    if (n.failed()) return;
    inline_graph(n, body, inner, arguments.span(), results);
    if (n.failed()) return;
    if (results.size() != 1 + carries) return n.fail(Errc::invalid_file, "the body gives ", results.size(), " values");
    refuse_strings(n, results.span());
    b.result(*arguments[0].tensor + 1.0);
    b.result(scalar_of(given_tensor(n, results[0])));
    for (std::size_t i = 0; i < carries; ++i) {
      keeps = keeps && !results[i + 1].sequence && results[i + 1].type == operands[2 + i].type();
      if (keeps) b.result(given_tensor(n, results[i + 1]));
    }
    b.result(trips);
    for (const Tensor& x : outside) b.result(x);
  });
  if (n.failed()) return true;
  if (!keeps) {
    b.drop_regions(condition);
    return false;
  }
  const ptir::Results results =
      b.emit("while_loop", operands.span(), {Attribute::region(condition), Attribute::region(step)});
  for (std::size_t i = 0; i < carries && i < n.outputs() && !n.failed(); ++i) n.out(i, results[2 + i]);
  return true;
}
/// A body that is read once and runs for each row of what is scanned.
struct ScannedBody {
  const GraphView& graph;
  std::size_t states;   ///< values that a step hands to the next
  std::size_t outputs;  ///< results that are stacked
  bool loops;           ///< Loop's order: trip and condition come first, the condition leads the results
};
/// What the body's graph takes: of Loop the trip, which is scanned, and a condition that is true.
inline void add_arguments(NodeCall& n, const ScannedBody& body, Span<const Value> states, Span<const Value> rows,
                          Vector<Value>& arguments) noexcept {
  static constexpr std::array<std::byte, 1> kYes{std::byte{1}};
  const auto add = [&](const Value& v) {
    if (auto r = arguments.push_back(v); !r) n.fail(r.error());
  };
  if (body.loops) {
    add(rows[0]);
    add({{DType::i1, {}}, {}, kYes, true});
  }
  for (const Value& v : states) add(v);
  for (const Value& v : rows.subspan(body.loops ? 1 : 0)) add(v);
}
/// Runs `body` over the first axes of `rows`. What it captures is carried unchanged. The results are the states, what
/// was captured, and the stacked outputs.
[[nodiscard]] inline std::optional<ptir::Results> scan_over(NodeCall& n, const ScannedBody& body,
                                                            Span<const Tensor> states, Span<const Tensor> rows,
                                                            const Captures& captures) noexcept {
  Builder& b = n.b();
  Vector<Tensor> operands(n.allocator());
  const auto add = [&](const Tensor& x) {
    if (auto r = operands.push_back(x); !r) n.fail(r.error());
  };
  for (const Tensor& x : states) add(x);
  add_captured(n, captures, operands);
  for (const Tensor& x : rows) add(x);
  if (n.failed()) return {};
  const ptir::RegionId step = b.region(Name("body"), [&] {
    Scope inner(n.allocator(), &n.scope());
    Vector<Value> state_values(n.allocator());
    Vector<Value> row_values(n.allocator());
    Vector<Value> arguments(n.allocator());
    Vector<Value> results(n.allocator());
    Vector<Tensor> outside(n.allocator());
    const auto parameter = [&](const ptir::TensorType& type, Vector<Value>& to) {
      const Tensor p = b.parameter(type);
      if (auto r = to.push_back({type, p, {}, false}); !r) n.fail(r.error());
    };
    for (const Tensor& x : states) parameter(x.type(), state_values);
    enter(n, captures, inner, outside);
    for (const Tensor& x : rows) {
      ptir::TensorType row{x.dtype(), {}};
      for (std::size_t axis = 1; axis < x.shape().size(); ++axis) row.shape.append(x.shape()[axis]);
      parameter(row, row_values);
    }
    if (n.failed()) return;
    add_arguments(n, body, state_values.span(), row_values.span(), arguments);
    if (n.failed()) return;
    inline_graph(n, body.graph, inner, arguments.span(), results);
    if (n.failed()) return;
    refuse_strings(n, results.span());
    const std::size_t first = body.loops ? 1 : 0;
    if (results.size() != first + body.states + body.outputs)
      return n.fail(Errc::invalid_file, "the body gives ", results.size(), " values");
    if (body.loops && (!results[0].known || known_false(results[0])))
      return n.unsupported("a loop with scan outputs whose condition is computed");
    for (std::size_t i = 0; i < body.states; ++i) b.result(given_tensor(n, results[first + i]));
    for (const Tensor& x : outside) b.result(x);
    for (std::size_t i = 0; i < body.outputs; ++i) b.result(given_tensor(n, results[first + body.states + i]));
  });
  if (n.failed()) return {};
  return b.emit("scan", operands.span(),
                {Attribute::region(step), Attribute::integer(static_cast<std::int64_t>(body.states + captures.tensors)),
                 Attribute::integer(static_cast<std::int64_t>(body.outputs))});
}

/// A loop whose trips are known and whose condition stays true, as a scan over the numbers of its trips.
inline void loop_by_scan(NodeCall& n, const GraphView& graph, std::int64_t trips) noexcept {
  Builder& b = n.b();
  const std::size_t carries = n.inputs() - 2;
  Captures captures(n.allocator());
  if (auto r = captures.add(graph, n.scope(), n.allocator()); !r) return n.fail(r.error());
  Vector<Tensor> states(n.allocator());
  for (std::size_t i = 0; i < carries; ++i)
    if (auto r = states.push_back(n.in(i + 2)); !r) return n.fail(r.error());
  const Tensor numbers = b.iota(shape_of(b, {trips}), DType::si64, 0);
  const ScannedBody body{graph, carries, n.outputs() - carries, true};
  const auto results = scan_over(n, body, states.span(), {&numbers, 1}, captures);
  for (std::size_t i = 0; results && i < n.outputs() && !n.failed(); ++i)
    n.out(i, (*results)[i < carries ? i : i + captures.tensors]);
}
inline void loop(NodeCall& n) noexcept {
  const auto body = graph_of(n, "body");
  if (n.failed()) return;
  if (n.inputs() < 2) return n.fail(Errc::invalid_file, "a loop has ", n.inputs(), " inputs");
  // Without scan outputs the loop stays one, if what it carries does not grow.
  bool sequences = false;
  for (std::size_t i = 2; i < n.inputs(); ++i)
    sequences = sequences || n.any_value(i).sequence.has_value() || n.any_value(i).absent;
  const bool stacks = n.outputs() != n.inputs() - 2;
  if (!stacks && !sequences && while_region(n, *body)) return;
  if (!n.has(0))
    return n.unsupported("a loop with ", stacks ? "scan outputs" : "carries that grow", " and no number of trips");
  const std::int64_t trips = n.int_in(0, "the number of trips");
  if (n.has(1) && !n.need_known(n.value(1), 1, "the condition")) return;
  if (n.failed()) return;
  const bool runs = !n.has(1) || !known_false(n.value(1));
  if (trips <= n.reader().unrolled_trips()) return unroll(n, *body, trips);
  if (sequences || !stacks || !runs || n.outputs() < n.inputs() - 2 || trips > kMaxExtent)
    return n.unsupported(trips, " trips that must be unrolled, at most ", n.reader().unrolled_trips(),
                         " by ReadOptions::unrolled_trips");
  loop_by_scan(n, *body, trips);
}

/// How Scan goes over an operand or lays out a result.
struct ScanWay {
  std::size_t axis = 0;
  bool backward = false;
};
[[nodiscard]] inline ScanWay scan_way(NodeCall& n, std::string_view axes, std::string_view directions, std::size_t i,
                                      std::size_t rank) noexcept {
  const IntList axis = n.ints(axes);
  const IntList direction = n.ints(directions);
  ScanWay way;
  if (i < axis.size()) way.axis = n.axis_of(axis[i], rank);
  if (i < direction.size()) way.backward = direction[i] != 0;
  return way;
}
/// x with `axis` first, or from there back again.
[[nodiscard]] inline Tensor axis_to_front(const Tensor& x, std::size_t axis) noexcept {
  IntList perm{static_cast<std::int64_t>(axis)};
  for (std::size_t i = 0; i < x.shape().size(); ++i)
    if (i != axis) perm.push(static_cast<std::int64_t>(i));
  return transpose(x, perm);
}
[[nodiscard]] inline Tensor front_to_axis(const Tensor& x, std::size_t axis) noexcept {
  IntList perm;
  for (std::size_t i = 0; i < x.shape().size(); ++i)
    perm.push(static_cast<std::int64_t>(i == axis ? 0 : i < axis ? i + 1 : i));
  return transpose(x, perm);
}
/// Scan from opset 9, over any axes, forwards or backwards.
inline void scan(NodeCall& n) noexcept {
  const auto graph = graph_of(n, "body");
  const std::int64_t scanned = n.integer("num_scan_inputs", 0);
  if (n.failed()) return;
  if (scanned < 1 || static_cast<std::size_t>(scanned) > n.inputs())
    return n.fail(Errc::invalid_params, "num_scan_inputs is ", scanned, " of ", n.inputs());
  const std::size_t count = n.inputs() - static_cast<std::size_t>(scanned);
  Captures captures(n.allocator());
  if (auto r = captures.add(*graph, n.scope(), n.allocator()); !r) return n.fail(r.error());
  Vector<Tensor> states(n.allocator());
  Vector<Tensor> rows(n.allocator());
  for (std::size_t i = 0; i < n.inputs(); ++i) {
    Tensor x = n.in(i);
    if (i >= count) {
      const ScanWay way = scan_way(n, "scan_input_axes", "scan_input_directions", i - count, n.rank(i));
      if (n.failed()) return;
      x = axis_to_front(way.backward ? reverse(n, x, way.axis) : x, way.axis);
    }
    if (auto r = (i < count ? states : rows).push_back(x); !r) return n.fail(r.error());
  }
  const ScannedBody body{*graph, count, n.outputs() < count ? 0 : n.outputs() - count, false};
  const auto results = scan_over(n, body, states.span(), rows.span(), captures);
  for (std::size_t i = 0; results && i < n.outputs() && !n.failed(); ++i) {
    if (i < count) {
      n.out(i, (*results)[i]);
      continue;
    }
    const Tensor y = (*results)[i + captures.tensors];
    const ScanWay way = scan_way(n, "scan_output_axes", "scan_output_directions", i - count, y.shape().size());
    if (n.failed()) return;
    n.out(i, front_to_axis(way.backward ? reverse(n, y, 0) : y, way.axis));
  }
}
/// Scan of opset 8: operands after the first and results have a batch in front, which a scan of its own goes over for
/// each entry. Operand 0 would give the sequences' lengths.
inline void scan_batches(NodeCall& n) noexcept {
  const auto graph = graph_of(n, "body");
  const std::int64_t scanned = n.integer("num_scan_inputs", 0);
  if (n.has(0)) return n.unsupported("a scan of sequences with lengths of their own");
  if (n.failed()) return;
  if (scanned < 1 || static_cast<std::size_t>(scanned) >= n.inputs())
    return n.fail(Errc::invalid_params, "num_scan_inputs is ", scanned, " of ", n.inputs());
  const std::size_t count = n.inputs() - 1 - static_cast<std::size_t>(scanned);
  const IntList directions = n.ints("directions");
  Captures captures(n.allocator());
  if (auto r = captures.add(*graph, n.scope(), n.allocator()); !r) return n.fail(r.error());
  Vector<Tensor> xs(n.allocator());
  for (std::size_t i = 1; i < n.inputs(); ++i) {
    Tensor x = n.in(i);
    if (n.rank(i) < (i > count ? 2u : 1u)) return n.fail(Errc::shape_mismatch, "input ", i, " has no batch");
    if (n.shape(i)[0] != n.shape(1)[0])
      return n.fail(Errc::shape_mismatch, "input ", i, " is of a batch of ", n.shape(i)[0], ", input 1 of ",
                    n.shape(1)[0]);
    if (i > count && i - 1 - count < directions.size() && directions[i - 1 - count] != 0) x = reverse(n, x, 1);
    if (auto r = xs.push_back(x); !r) return n.fail(r.error());
  }
  Vector<Vector<Tensor>> stacked(n.allocator());
  for (std::size_t i = 0; i < n.outputs(); ++i)
    if (auto r = stacked.push_back(Vector<Tensor>(n.allocator())); !r) return n.fail(r.error());
  const ScannedBody body{*graph, count, n.outputs() < count ? 0 : n.outputs() - count, false};
  for (std::int64_t entry = 0; entry < n.shape(1)[0] && !n.failed(); ++entry) {
    Vector<Tensor> states(n.allocator());
    Vector<Tensor> rows(n.allocator());
    for (std::size_t i = 0; i < xs.size(); ++i)
      if (auto r = (i < count ? states : rows).push_back(entry_of(n, xs[i], entry)); !r) return n.fail(r.error());
    const auto results = scan_over(n, body, states.span(), rows.span(), captures);
    for (std::size_t i = 0; results && i < n.outputs() && !n.failed(); ++i) {
      const Tensor y = (*results)[i < count ? i : i + captures.tensors];
      if (auto r = stacked[i].push_back(as_entry(n, y)); !r) return n.fail(r.error());
    }
  }
  for (std::size_t i = 0; i < n.outputs() && !n.failed(); ++i) {
    if (stacked[i].empty()) return n.unsupported("a scan of an empty batch");
    n.out(i, concat(stacked[i].span(), 0, n.b()));
  }
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
