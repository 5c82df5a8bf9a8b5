// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/model.hpp: the messages of an ONNX file as views into its bytes.
//
// Field numbers are those of onnx.proto. Nested graphs and tensors stay bytes until they are asked for.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/ir/onnx/schemas.hpp>
#include <zrt/ir/onnx/wire.hpp>

#include <algorithm>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// AttributeProto.AttributeType, of those that operators have.
enum class AttributeType : std::uint8_t {
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8
};

/// AttributeProto.
struct AttributeView {
  explicit AttributeView(Allocator a) noexcept : reals(a), integers(a), texts(a) {}

  std::string_view name;
  std::string_view reference;  ///< in a function's body: the attribute of the calling node that this one is
  std::uint64_t type = 0;      ///< an AttributeType, or 0 where the file says none
  double real = 0;
  std::int64_t integer = 0;
  std::string_view text;
  std::string_view tensor;  ///< TensorProto
  std::string_view graph;   ///< GraphProto
  Vector<double> reals;
  Vector<std::int64_t> integers;
  Vector<std::string_view> texts;
};

/// NodeProto.
struct NodeView {
  explicit NodeView(Allocator a) noexcept : inputs(a), outputs(a), attributes(a) {}

  std::string_view name;
  std::string_view op;
  std::string_view domain;
  std::string_view overload;  ///< which of a model's functions of that name
  Vector<std::string_view> inputs;
  Vector<std::string_view> outputs;
  Vector<AttributeView> attributes;

  [[nodiscard]] const AttributeView* find(std::string_view wanted) const noexcept {
    for (const AttributeView& a : attributes)
      if (a.name == wanted) return &a;
    return nullptr;
  }
};

/// ValueInfoProto; what its type says is read by whoever needs it.
struct ValueView {
  std::string_view name;
  std::string_view type;  ///< TypeProto
};

/// GraphProto.
struct GraphView {
  explicit GraphView(Allocator a) noexcept : nodes(a), inputs(a), outputs(a), initializers(a) {}

  std::string_view name;
  Vector<NodeView> nodes;
  Vector<ValueView> inputs;
  Vector<ValueView> outputs;
  Vector<std::string_view> initializers;  ///< TensorProto
};

/// OperatorSetIdProto: which version of a domain's operators is meant.
struct OpsetImport {
  std::string_view domain;  ///< "ai.onnx" for the standard operators, however the file says it
  std::int64_t version = 0;
};

/// The version of `domain` among `imports`; 0 when they do not name it.
[[nodiscard]] inline std::int64_t opset_of(Span<const OpsetImport> imports, std::string_view domain) noexcept {
  for (const OpsetImport& import : imports)
    if (import.domain == (domain.empty() ? "ai.onnx" : domain)) return import.version;
  return 0;
}

/// FunctionProto: an operator that the model defines by nodes.
struct FunctionView {
  explicit FunctionView(Allocator a) noexcept
      : inputs(a), outputs(a), attributes(a), defaults(a), nodes(a), imports(a) {}

  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  Vector<std::string_view> inputs;
  Vector<std::string_view> outputs;
  Vector<std::string_view> attributes;  ///< names of those without a default
  Vector<AttributeView> defaults;       ///< values of attributes that a caller leaves out
  Vector<NodeView> nodes;
  Vector<OpsetImport> imports;

  [[nodiscard]] bool has_attribute(std::string_view wanted) const noexcept {
    for (const std::string_view own : attributes)
      if (own == wanted) return true;
    for (const AttributeView& own : defaults)
      if (own.name == wanted) return true;
    return false;
  }
};

/// Functions that a model may define.
inline constexpr std::size_t kMaxFunctions = 4096;

/// ModelProto: the graph's bytes, the functions and the versions of the operators.
struct ModelView {
  explicit ModelView(Allocator a) noexcept : imports(a), functions(a) {}

  std::string_view graph;
  Vector<OpsetImport> imports;
  Vector<FunctionView> functions;

  /// Of the standard operators; 0 when the file names none.
  [[nodiscard]] std::int64_t opset() const noexcept { return opset_of(imports.span(), "ai.onnx"); }
};

/// The version of a domain's operators that holds: the newest of the standard ones, and 1 of others, where none is named.
[[nodiscard]] inline std::int64_t opset_in_force(Span<const OpsetImport> imports, std::string_view domain) noexcept {
  const std::int64_t version = opset_of(imports, domain);
  if (version != 0) return version;
  return domain.empty() || domain == "ai.onnx" ? kNewestOpset : 1;
}

/// The function of the model under that name, or null.
[[nodiscard]] inline const FunctionView* find_function(const ModelView& model, std::string_view domain,
                                                       std::string_view name, std::string_view overload) noexcept {
  for (const FunctionView& function : model.functions)
    if (function.name == name && function.domain == domain && function.overload == overload) return &function;
  return nullptr;
}

namespace detail {

[[nodiscard]] inline Result<void> expect_wire(const WireField& field, WireType type,
                                              std::string_view message) noexcept {
  if (field.type == type) return {};
  return fail(Errc::invalid_file, message, ": field ", field.number, " has wire type ",
              unsigned{static_cast<std::uint8_t>(field.type)}, ", expected ",
              unsigned{static_cast<std::uint8_t>(type)});
}

/// Calls `each` with every field of a message.
template <class F> [[nodiscard]] Result<void> each_field(std::string_view message, const F& each) noexcept {
  WireReader reader(message);
  while (!reader.at_end()) {
    const auto field = reader.next();
    if (!field) return pass(field);
    if (Result<void> r = each(*field); !r) return r;
  }
  return {};
}

/// Appends a repeated integer, packed or not.
[[nodiscard]] inline Result<void> append_integers(const WireField& field, Vector<std::int64_t>& to) noexcept {
  if (field.type != WireType::bytes) return to.push_back(field.integer());
  WireReader reader(field.bytes);
  while (!reader.at_end()) {
    const auto value = reader.varint();
    if (!value) return pass(value);
    if (auto r = to.push_back(static_cast<std::int64_t>(*value)); !r) return r;
  }
  return {};
}
/// Appends a repeated float, packed or not.
[[nodiscard]] inline Result<void> append_reals(const WireField& field, Vector<double>& to) noexcept {
  if (field.type != WireType::bytes) return to.push_back(double{field.real()});
  WireReader reader(field.bytes);
  while (!reader.at_end()) {
    const auto word = reader.word(4);
    if (!word) return pass(word);
    if (auto r = to.push_back(double{std::bit_cast<float>(static_cast<std::uint32_t>(*word))}); !r) return r;
  }
  return {};
}

/// What gives a value of a graph its name.
struct NameGiver {
  enum class Kind : std::uint8_t { initializer, input, node };
  std::string_view name;
  Kind kind;
  std::size_t index;  ///< among those of its kind
};
inline constexpr std::array<std::string_view, 3> kNameGivers{"initializer", "input", "node"};

/// Refuses a graph that gives a name twice: what reads it could mean either value. An input may have an initializer,
/// its value where the caller gives none.
[[nodiscard]] inline Result<void> expect_names_once(const GraphView& graph, const Allocator& a) noexcept {
  Vector<NameGiver> givers(a);
  for (std::size_t i = 0; i < graph.initializers.size(); ++i) {
    std::string_view name;
    auto read = each_field(graph.initializers[i], [&](const WireField& f) -> Result<void> {
      if (f.number == 8) name = f.bytes;
      return {};
    });
    if (!read) return read;
    if (auto r = givers.push_back({name, NameGiver::Kind::initializer, i}); !r) return r;
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    if (auto r = givers.push_back({graph.inputs[i].name, NameGiver::Kind::input, i}); !r) return r;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const std::string_view name : graph.nodes[i].outputs)
      if (auto r = givers.push_back({name, NameGiver::Kind::node, i}); !r) return r;
  std::sort(givers.begin(), givers.end(), [](const NameGiver& p, const NameGiver& q) {
    if (p.name != q.name) return p.name < q.name;
    return p.kind != q.kind ? p.kind < q.kind : p.index < q.index;
  });
  for (std::size_t i = 1; i < givers.size(); ++i) {
    const NameGiver& first = givers[i - 1];
    const NameGiver& second = givers[i];
    const bool is_default = first.kind == NameGiver::Kind::initializer && second.kind == NameGiver::Kind::input;
    if (first.name != second.name || second.name.empty() || is_default) continue;
    Error error = Error::of(Errc::invalid_file, kNameGivers[static_cast<std::size_t>(second.kind)], " ", second.index);
    if (second.kind == NameGiver::Kind::node) {
      const NodeView& node = graph.nodes[second.index];
      error.append(node.name.empty() ? "" : " ")
          .append(zrt::slice(node.name, 0, 60))
          .append(" (")
          .append(zrt::slice(node.op, 0, 40))
          .append(")");
    }
    const Error had = Error::of(Errc::invalid_file, ": value ", zrt::slice(second.name, 0, 80), " is given by ",
                                kNameGivers[static_cast<std::size_t>(first.kind)], " ", first.index,
                                " already, expected each name once in a graph");
    return std::unexpected<Error>(error.append(had.text()));
  }
  return {};
}

}  // namespace detail

[[nodiscard]] inline Result<AttributeView> read_attribute(std::string_view message, const Allocator& a) noexcept {
  AttributeView attribute(a);
  auto r = detail::each_field(message, [&](const WireField& f) -> Result<void> {
    switch (f.number) {
      case 1:
        attribute.name = f.bytes;
        return detail::expect_wire(f, WireType::bytes, "an attribute");
      case 2:
        attribute.real = double{f.real()};
        return detail::expect_wire(f, WireType::fixed32, "an attribute");
      case 3:
        attribute.integer = f.integer();
        return detail::expect_wire(f, WireType::varint, "an attribute");
      case 4:
        attribute.text = f.bytes;
        return detail::expect_wire(f, WireType::bytes, "an attribute");
      case 5:
        attribute.tensor = f.bytes;
        return detail::expect_wire(f, WireType::bytes, "an attribute");
      case 6:
        attribute.graph = f.bytes;
        return detail::expect_wire(f, WireType::bytes, "an attribute");
      case 7:
        return detail::append_reals(f, attribute.reals);
      case 8:
        return detail::append_integers(f, attribute.integers);
      case 9:
        if (auto wire = detail::expect_wire(f, WireType::bytes, "an attribute"); !wire) return wire;
        return attribute.texts.push_back(f.bytes);
      case 20:
        attribute.type = f.value;
        return {};
      case 21:
        attribute.reference = f.bytes;
        return detail::expect_wire(f, WireType::bytes, "an attribute");
      default:
        return {};
    }
  });
  if (!r) return pass(r);
  return attribute;
}

[[nodiscard]] inline Result<NodeView> read_node(std::string_view message, const Allocator& a) noexcept {
  NodeView node(a);
  auto r = detail::each_field(message, [&](const WireField& f) -> Result<void> {
    if (f.number > 8 || f.number == 6) return {};
    if (auto wire = detail::expect_wire(f, WireType::bytes, "a node"); !wire) return wire;
    switch (f.number) {
      case 1:
        return node.inputs.push_back(f.bytes);
      case 2:
        return node.outputs.push_back(f.bytes);
      case 3:
        node.name = f.bytes;
        return {};
      case 4:
        node.op = f.bytes;
        return {};
      case 5: {
        auto attribute = read_attribute(f.bytes, a);
        if (!attribute) return pass(attribute);
        return node.attributes.push_back(std::move(*attribute));
      }
      case 8:
        node.overload = f.bytes;
        return {};
      default:
        node.domain = f.bytes;
        return {};
    }
  });
  if (!r) return pass(r);
  return node;
}

[[nodiscard]] inline Result<ValueView> read_value(std::string_view message) noexcept {
  ValueView value;
  auto r = detail::each_field(message, [&](const WireField& f) -> Result<void> {
    if (f.number != 1 && f.number != 2) return {};
    (f.number == 1 ? value.name : value.type) = f.bytes;
    return detail::expect_wire(f, WireType::bytes, "a value's description");
  });
  if (!r) return pass(r);
  return value;
}

/// Errors: those of the messages; Errc::invalid_file where a name is given twice, Errc::unimplemented for sparse data.
[[nodiscard]] inline Result<GraphView> read_graph(std::string_view message, const Allocator& a) noexcept {
  GraphView graph(a);
  auto r = detail::each_field(message, [&](const WireField& f) -> Result<void> {
    switch (f.number) {
      case 1: {
        if (auto wire = detail::expect_wire(f, WireType::bytes, "a graph"); !wire) return wire;
        auto node = read_node(f.bytes, a);
        if (!node) return pass(node);
        return graph.nodes.push_back(std::move(*node));
      }
      case 2:
        graph.name = f.bytes;
        return detail::expect_wire(f, WireType::bytes, "a graph");
      case 5:
        if (auto wire = detail::expect_wire(f, WireType::bytes, "a graph"); !wire) return wire;
        return graph.initializers.push_back(f.bytes);
      case 11:
      case 12: {
        if (auto wire = detail::expect_wire(f, WireType::bytes, "a graph"); !wire) return wire;
        const auto value = read_value(f.bytes);
        if (!value) return pass(value);
        return (f.number == 11 ? graph.inputs : graph.outputs).push_back(*value);
      }
      case 15:
        return fail(Errc::unimplemented, "the graph has a sparse initializer");
      default:
        return {};
    }
  });
  if (!r) return pass(r);
  if (auto names = detail::expect_names_once(graph, a); !names) return pass(names);
  return graph;
}

[[nodiscard]] inline Result<OpsetImport> read_import(std::string_view message) noexcept {
  OpsetImport import;
  auto r = detail::each_field(message, [&](const WireField& f) -> Result<void> {
    if (f.number == 1) import.domain = f.bytes;
    if (f.number == 2) import.version = f.integer();
    return {};
  });
  if (!r) return pass(r);
  if (import.domain.empty()) import.domain = "ai.onnx";
  return import;
}

[[nodiscard]] inline Result<FunctionView> read_function(std::string_view message, const Allocator& a) noexcept {
  FunctionView function(a);
  auto r = detail::each_field(message, [&](const WireField& f) -> Result<void> {
    if (f.number > 13 || f.number == 2 || f.number == 3 || f.number == 8 || f.number == 12) return {};
    if (auto wire = detail::expect_wire(f, WireType::bytes, "a function"); !wire) return wire;
    switch (f.number) {
      case 1:
        function.name = f.bytes;
        return {};
      case 4:
        return function.inputs.push_back(f.bytes);
      case 5:
        return function.outputs.push_back(f.bytes);
      case 6:
        return function.attributes.push_back(f.bytes);
      case 13:
        function.overload = f.bytes;
        return {};
      case 7: {
        auto node = read_node(f.bytes, a);
        if (!node) return pass(node);
        return function.nodes.push_back(std::move(*node));
      }
      case 9: {
        const auto import = read_import(f.bytes);
        if (!import) return pass(import);
        return function.imports.push_back(*import);
      }
      case 10:
        function.domain = f.bytes;
        return {};
      default: {
        auto attribute = read_attribute(f.bytes, a);
        if (!attribute) return pass(attribute);
        return function.defaults.push_back(std::move(*attribute));
      }
    }
  });
  if (!r) return pass(r);
  return function;
}

[[nodiscard]] inline Result<ModelView> read_model(std::string_view file, const Allocator& a) noexcept {
  ModelView model(a);
  bool found = false;
  auto r = detail::each_field(file, [&](const WireField& f) -> Result<void> {
    if (f.number != 7 && f.number != 8 && f.number != 25) return {};
    if (auto wire = detail::expect_wire(f, WireType::bytes, "the model"); !wire) return wire;
    if (f.number == 7) {
      model.graph = f.bytes;
      found = true;
      return {};
    }
    if (f.number == 8) {
      const auto import = read_import(f.bytes);
      if (!import) return pass(import);
      return model.imports.push_back(*import);
    }
    if (model.functions.size() >= kMaxFunctions)
      return fail(Errc::limit_exceeded, "the model defines more than ", kMaxFunctions, " functions");
    auto function = read_function(f.bytes, a);
    if (!function) return pass(function);
    return model.functions.push_back(std::move(*function));
  });
  if (!r) return pass(r);
  if (!found) return fail(Errc::invalid_file, "the file holds no graph, expected an ONNX ModelProto");
  return model;
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
