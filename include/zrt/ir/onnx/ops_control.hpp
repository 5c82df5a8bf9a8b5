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
  const AttributeView* a = n.node().find(key);
  if (a == nullptr) {
    n.fail(Errc::invalid_file, key, " is missing");
    return {};
  }
  auto graph = read_graph(a->graph, n.allocator());
  if (!graph) {
    n.fail(graph.error());
    return {};
  }
  return std::move(*graph);
}

/// Values from outside that a graph reads and that are computed: they enter its region as parameters.
struct Captures {
  explicit Captures(Allocator a) noexcept : names(a) {}

  Vector<std::string_view> names;

  [[nodiscard]] Result<void> add(const GraphView& graph, Scope& outer, const Allocator& a,
                                 std::size_t depth = 0) noexcept {
    if (depth > kMaxGraphDepth)
      return fail(Errc::limit_exceeded, "graphs are nested more than ", kMaxGraphDepth, " deep");
    const auto add_name = [&](std::string_view name) -> Result<void> {
      for (const std::string_view had : names)
        if (had == name) return {};
      // A name that the graph defines itself is not looked up outside by its nodes; carrying it in is harmless.
      const Value* v = name.empty() ? nullptr : outer.find(name);
      return v == nullptr || v->known ? Result<void>{} : names.push_back(name);
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
  if (auto r = n.reader().read_nodes(graph, scope); !r) return n.fail(r.error());
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
    const Value* v = n.scope().find(name);
    const Tensor p = n.b().parameter(v->type, Reader::named(name));
    if (auto r = inner.add(name, {v->type, p, {}, false}); !r) n.fail(r.error());
    if (auto r = parameters.push_back(p); !r) n.fail(r.error());
  }
}
[[nodiscard]] inline Tensor scalar_of(const Tensor& x) noexcept { return reshape(x, {}); }

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
  const auto region = [&](const GraphView& graph) {
    return b.region(Reader::named(graph.name), [&] {
      Scope inner(n.allocator(), &n.scope());
      Vector<Tensor> parameters(n.allocator());
      Vector<Value> results(n.allocator());
      enter(n, captures, inner, parameters);
      inline_graph(n, graph, inner, {}, results);
      for (const Value& v : results)
        if (!n.failed()) b.result(given_tensor(n, v));
    });
  };
  const ptir::RegionId yes = region(*on_true);
  const ptir::RegionId no = region(*on_false);
  Vector<Tensor> operands(n.allocator());
  if (auto r = operands.push_back(scalar_of(n.tensor_of(pred))); !r) return n.fail(r.error());
  for (const std::string_view name : captures.names)
    if (auto r = operands.push_back(n.tensor_of(*n.scope().find(name))); !r) return n.fail(r.error());
  if (n.failed()) return;
  const ptir::Results results = b.emit("cond", operands.span(), {Attribute::region(yes), Attribute::region(no)});
  for (std::size_t i = 0; i < results.size() && !n.failed(); ++i) n.out(i, results[i]);
}

[[nodiscard]] inline bool known_false(const Value& v) noexcept {
  return v.known && !v.data.empty() && v.data[0] == std::byte{0};
}
/// Reads the body once for each trip.
inline void unroll(NodeCall& n, const GraphView& body, std::int64_t trips) noexcept {
  Builder& b = n.b();
  Vector<Value> carried(n.allocator());
  std::array<std::byte, 1> yes{std::byte{1}};
  Value condition = n.has(1) ? n.value(1) : Value{{DType::i1, {}}, {}, yes, true};
  for (std::size_t i = 2; i < n.inputs(); ++i)
    if (auto r = carried.push_back(n.value(i)); !r) return n.fail(r.error());
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
    condition = results[0];
    if (!condition.known) return n.unsupported("a loop with scan outputs whose condition is computed");
    for (std::size_t i = 0; i < carries; ++i) carried[i] = results[i + 1];
    for (std::size_t i = 0; i < stacked.size(); ++i) {
      const Tensor y = n.tensor_of(results[1 + carries + i]);
      IntList shape{1};
      for (const std::int64_t extent : n.shape(y)) shape.push(extent);
      if (auto r = stacked[i].push_back(reshape(y, shape)); !r) return n.fail(r.error());
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
/// trip, the condition, what the loop carries, the number of trips and what the body captures.
inline void while_region(NodeCall& n, const GraphView& body) noexcept {
  Builder& b = n.b();
  const std::size_t carries = n.inputs() - 2;
  Captures captures(n.allocator());
  if (auto r = captures.add(body, n.scope(), n.allocator()); !r) return n.fail(r.error());
  Vector<Tensor> operands(n.allocator());
  const auto add = [&](const Tensor& x) {
    if (auto r = operands.push_back(x); !r) n.fail(r.error());
  };
  add(b.scalar(DType::si64, 0));
  add(n.has(1) ? scalar_of(n.in(1)) : b.scalar(DType::i1, 1));
  for (std::size_t i = 2; i < n.inputs(); ++i) add(n.in(i));
  add(n.has(0) ? scalar_of(n.in(0)) : b.scalar(DType::si64, 0x1p62));
  for (const std::string_view name : captures.names) add(n.tensor_of(*n.scope().find(name)));
  if (n.failed()) return;
  const std::size_t limit = 2 + carries;
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
    b.result(*arguments[0].tensor + 1.0);
    b.result(scalar_of(given_tensor(n, results[0])));
    for (std::size_t i = 0; i < carries; ++i) b.result(given_tensor(n, results[i + 1]));
    b.result(trips);
    for (const Tensor& x : outside) b.result(x);
  });
  if (n.failed()) return;
  const ptir::Results results =
      b.emit("while_loop", operands.span(), {Attribute::region(condition), Attribute::region(step)});
  for (std::size_t i = 0; i < carries && i < n.outputs() && !n.failed(); ++i) n.out(i, results[2 + i]);
}
inline void loop(NodeCall& n) noexcept {
  const auto body = graph_of(n, "body");
  if (n.failed()) return;
  if (n.inputs() < 2) return n.fail(Errc::invalid_file, "a loop has ", n.inputs(), " inputs");
  // Without scan outputs the loop stays one.
  if (n.outputs() == n.inputs() - 2) return while_region(n, *body);
  if (!n.has(0)) return n.unsupported("a loop with scan outputs and no number of trips");
  const std::int64_t trips = n.int_in(0, "the number of trips");
  if (n.has(1) && !n.need_known(n.value(1), 1, "the condition")) return;
  if (n.failed()) return;
  if (const std::int64_t most = n.reader().unrolled_trips(); trips > most)
    return n.unsupported(trips, " trips with scan outputs, at most ", most, " by ReadOptions::unrolled_trips");
  unroll(n, *body, trips);
}

/// Scan over first axes, forward, from opset 9. What the body captures is carried unchanged.
inline void scan(NodeCall& n) noexcept {
  Builder& b = n.b();
  for (const std::string_view key :
       {"scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions"})
    for (const std::int64_t value : n.ints(key))
      if (value != 0) return n.unsupported(key, " other than 0");
  const auto body = graph_of(n, "body");
  const std::int64_t scanned = n.integer("num_scan_inputs", 0);
  if (n.failed()) return;
  if (scanned < 1 || static_cast<std::size_t>(scanned) > n.inputs())
    return n.fail(Errc::invalid_params, "num_scan_inputs is ", scanned, " of ", n.inputs());
  const std::size_t states = n.inputs() - static_cast<std::size_t>(scanned);
  Captures captures(n.allocator());
  if (auto r = captures.add(*body, n.scope(), n.allocator()); !r) return n.fail(r.error());
  Vector<Tensor> operands(n.allocator());
  const auto add = [&](const Tensor& x) {
    if (auto r = operands.push_back(x); !r) n.fail(r.error());
  };
  for (std::size_t i = 0; i < states; ++i) add(n.in(i));
  for (const std::string_view name : captures.names) add(n.tensor_of(*n.scope().find(name)));
  for (std::size_t i = states; i < n.inputs(); ++i) add(n.in(i));
  if (n.failed()) return;
  const std::size_t outputs = n.outputs() < states ? 0 : n.outputs() - states;
  const ptir::RegionId step = b.region(Name("body"), [&] {
    Scope inner(n.allocator(), &n.scope());
    Vector<Value> arguments(n.allocator());
    Vector<Value> results(n.allocator());
    Vector<Tensor> outside(n.allocator());
    const auto argument = [&](const ptir::TensorType& type) {
      const Tensor p = b.parameter(type);
      if (auto r = arguments.push_back({type, p, {}, false}); !r) n.fail(r.error());
    };
    for (std::size_t i = 0; i < states; ++i) argument(operands[i].type());
    enter(n, captures, inner, outside);
    for (std::size_t i = states + captures.names.size(); i < operands.size(); ++i) {
      ptir::TensorType slice{operands[i].dtype(), {}};
      for (std::size_t axis = 1; axis < operands[i].shape().size(); ++axis)
        slice.shape.append(operands[i].shape()[axis]);
      argument(slice);
    }
    if (n.failed()) return;
    inline_graph(n, *body, inner, arguments.span(), results);
    if (n.failed()) return;
    if (results.size() != states + outputs)
      return n.fail(Errc::invalid_file, "the body gives ", results.size(), " values");
    for (std::size_t i = 0; i < states; ++i) b.result(given_tensor(n, results[i]));
    for (const Tensor& x : outside) b.result(x);
    for (std::size_t i = 0; i < outputs; ++i) b.result(given_tensor(n, results[states + i]));
  });
  if (n.failed()) return;
  const auto carries = static_cast<std::int64_t>(states + captures.names.size());
  const ptir::Results results = b.emit(
      "scan", operands.span(),
      {Attribute::region(step), Attribute::integer(carries), Attribute::integer(static_cast<std::int64_t>(outputs))});
  for (std::size_t i = 0; i < n.outputs() && !n.failed(); ++i)
    n.out(i, results[i < states ? i : i + captures.names.size()]);
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
