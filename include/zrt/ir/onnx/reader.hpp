// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/reader.hpp: graphs of an ONNX file, node by node, into a program under construction.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/call.hpp>
#include <zrt/ir/onnx/input_length.hpp>
#include <zrt/ir/onnx/named_extent.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// An input whose value is known when the program is made: it becomes a constant and is no parameter.
struct BoundInput {
  std::string_view name;
  ptir::TensorType type{};
  Span<const std::byte> data;
};

/// An input's type where the file leaves extents open, or to read it for other extents.
struct InputType {
  std::string_view name;
  ptir::TensorType type{};
};

struct ReadOptions {
  /// Values of inputs; they must live as long as the call. One that no input of the model has is refused, and one whose
  /// bytes or element type do not fit. A tensor of a sequence is an input called `name[place]`, here and in `types`.
  Span<const BoundInput> values{};
  /// Types of inputs, in place of those in the file.
  Span<const InputType> types{};
  /// Numbers of extents that inputs name.
  Span<const NamedExtent> extents{};
  /// How many tensors inputs hold that are sequences, and which optional inputs are not there.
  Span<const InputLength> lengths{};
  /// Initialisers of the model's graph that the program takes as inputs, by their names, in front of the model's own and
  /// in the order of the graph: what a training moves. The others are constants.
  Span<const std::string_view> variables{};
  /// Trips of a Loop with scan outputs, whose body is read once for each of them. Of loops that stay loops a run makes
  /// at most ptir::LowerOptions::trip_limit.
  std::int64_t unrolled_trips = 256;
  /// When reading fails because the value of an input must be known, its name is written here.
  Name* needed = nullptr;
  /// When reading fails because an extent must be known, the first input that leaves extents open is written here.
  Name* open_input = nullptr;
  /// Receives the strings of the model, whose tensors are then si64 tensors of their numbers, in `values` and `types` too;
  /// null refuses a model that has such tensors.
  ModelStrings* strings = nullptr;
  /// Files that hold the data of tensors; null refuses a model that has such tensors.
  ExternalData* external = nullptr;
  Allocator allocator = system_allocator();
};

/// Graphs within graphs that a reader follows.
inline constexpr std::size_t kMaxGraphDepth = 16;
/// Nodes that are translated, those of a body once for each trip that is read.
inline constexpr std::size_t kMaxNodes = std::size_t{1} << 16;
/// Bytes of known values that a reader keeps, beyond four times those of the file.
inline constexpr std::size_t kMaxKeptBytes = std::size_t{256} << 20;
/// Bytes of graphs within nodes that are read, in each trip of a loop once more, beyond four times those of the file.
inline constexpr std::size_t kMaxNestedBytes = std::size_t{64} << 20;
/// Tensors in all sequences together; one that is in two of them counts twice.
inline constexpr std::size_t kMaxSequenceTensors = std::size_t{1} << 20;
/// Known values of as many bytes are in the program once, however often they are read.
inline constexpr std::size_t kSharedBytes = std::size_t{64} << 10;

/// Reads the graphs of `model`, a file of `file_bytes` bytes. Values that are known live in it.
class Reader {
 public:
  Reader(const ReadOptions& options, const ModelView& model, std::size_t file_bytes) noexcept
      : options_(&options),
        model_(&model),
        imports_(model.imports.span()),
        builder_(options.allocator),
        kept_(options.allocator),
        shared_(options.allocator),
        sequences_(options.allocator),
        room_(file_bytes < kMaxKeptBytes ? 4 * file_bytes + kMaxKeptBytes : file_bytes),
        nested_room_(file_bytes < kMaxNestedBytes ? 4 * file_bytes + kMaxNestedBytes : file_bytes) {}

  [[nodiscard]] Builder& b() noexcept { return builder_; }
  [[nodiscard]] const Allocator& allocator() const noexcept { return options_->allocator; }
  [[nodiscard]] std::int64_t unrolled_trips() const noexcept { return options_->unrolled_trips; }

  /// Reads the model's graph into the builder's first region.
  [[nodiscard]] Result<void> read_main() noexcept {
    if (options_->strings != nullptr) {
      options_->strings->inputs.clear();
      options_->strings->outputs.clear();
    }
    const auto graph = read_graph(model_->graph, allocator());
    if (!graph) return pass(graph);
    Scope scope(allocator());
    if (auto r = read_initializers(*graph, scope, options_->variables); !r) return r;
    for (const std::string_view variable : options_->variables)
      if (scope.find(variable) == nullptr)
        return fail(Errc::invalid_argument, "no initializer is called ", zrt::slice(variable, 0, 80));
    for (const BoundInput& bound : options_->values) {
      bool known = false;
      for (const ValueView& input : graph->inputs) known = known || is_called(input, bound.name);
      if (!known) return fail(Errc::invalid_argument, "no input is called ", zrt::slice(bound.name, 0, 80));
    }
    for (const InputLength& length : options_->lengths) {
      bool known = false;
      for (const ValueView& input : graph->inputs) known = known || input.name == length.name;
      if (!known) return fail(Errc::invalid_argument, "no input is called ", zrt::slice(length.name, 0, 80));
    }
    for (const ValueView& input : graph->inputs)
      if (auto r = read_input(input, scope); !r) return r;
    if (auto r = read_nodes(graph->nodes.span(), scope); !r) return r;
    for (const ValueView& output : graph->outputs) {
      const Value* v = scope.find(output.name);
      if (v == nullptr)
        return fail(Errc::dangling_value, "output ", zrt::slice(output.name, 0, 80), " is computed by no node");
      if (auto r = give(output, *v); !r) return r;
    }
    return {};
  }

  /// The name of a tensor of a sequence that is an input or an output; empty where it is too long for one.
  [[nodiscard]] static Name element_name(std::string_view sequence, std::size_t place) noexcept {
    const Name name = Name::of(sequence, "[", static_cast<unsigned>(place), "]");
    return name.fits() ? name : Name();
  }

  /// True for a value that is no input of another name, no output yet and no element of a tuple.
  [[nodiscard]] bool may_be_named(const Tensor& x, const Name& name) const noexcept {
    const ptir::Operand& operand = x.operand();
    const ptir::Region& main = builder_.program().regions[0];
    if (operand.kind != ptir::Operand::Kind::value) return false;
    for (const ptir::Parameter& p : main.parameters)
      if (p.id == operand.id) return p.name == name;
    for (const ptir::RegionResult& result : main.results)
      if (result.operand.kind == operand.kind && result.operand.id == operand.id) return false;
    return true;
  }

  /// Reads the initialisers of a graph into `scope`; `variables` become inputs of the program.
  [[nodiscard]] Result<void> read_initializers(const GraphView& graph, Scope& scope,
                                               Span<const std::string_view> variables = {}) noexcept {
    if (depth_ != 0 && !may_read_again(64 * (graph.initializers.size() + graph.outputs.size())))
      return fail(Errc::limit_exceeded, "graphs within nodes are read too often");
    for (const std::string_view message : graph.initializers) {
      auto tensor = tensor_in(message);
      if (!tensor) return pass(tensor);
      Value value{tensor->type, {}, tensor->data, true};
      value.strings = tensor->strings;
      if (std::find(variables.begin(), variables.end(), tensor->name) != variables.end()) {
        if (value.strings)
          return fail(Errc::dtype_mismatch, "initializer ", zrt::slice(tensor->name, 0, 80),
                      " is of strings, which cannot be an input");
        value = {tensor->type, builder_.parameter(tensor->type, named(tensor->name)), {}, false, tensor->name};
        if (builder_.failed()) return about("initializer ", tensor->name);
      }
      if (auto r = scope.add(tensor->name, value); !r) return r;
    }
    return {};
  }
  /// The tensor of a message; its elements live as long as the reader.
  [[nodiscard]] Result<TensorData> tensor_in(std::string_view message) noexcept {
    auto tensor = read_tensor(message, allocator(), options_->external,
                              options_->strings == nullptr ? nullptr : &options_->strings->table);
    if (!tensor || tensor->own.empty()) return tensor;
    const auto kept = keep(std::move(tensor->own));
    if (!kept) return pass(kept);
    tensor->data = *kept;
    return tensor;
  }
  /// Translates the nodes of a graph or a function, whose inputs are in `scope` already.
  [[nodiscard]] Result<void> read_nodes(Span<const NodeView> nodes, Scope& scope) noexcept {
    if (++depth_ > kMaxGraphDepth)
      return fail(Errc::limit_exceeded, "graphs and functions are nested more than ", kMaxGraphDepth, " deep");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodeView& node = nodes[i];
      if (++nodes_ > kMaxNodes)
        return fail(Errc::limit_exceeded, "more than ", kMaxNodes,
                    " nodes are read, those of a body once for each trip");
      const std::size_t built = builder_.instructions().size(), bound = scope.values().size();
      NodeCall call(*this, scope, builder_, node, opset_in_force(imports_, node.domain));
      const std::uint32_t around = builder_.origin();
      builder_.origin(builder_.add_origin(
          node.name.empty() ? Name::of("node ", static_cast<unsigned>(i), " (", zrt::slice(node.op, 0, 40), ")").view()
                            : node.name,
          node.inputs.span()));
      if (const FunctionView* function = find_function(*model_, node.domain, node.op, node.overload);
          function != nullptr)
        inline_function(call, *function);
      else
        translate(call);
      builder_.origin(around);
      if (!builder_.failed()) check_sizes(built);
      for (std::size_t v = bound; v < scope.values().size(); ++v)
        for (const Value& tensor : tensors_of(scope.values()[v].value)) check_size(tensor.type, node.op);
      if (!builder_.failed()) continue;
      // The error of a node within this one names that node already.
      const Error inner = located_ ? *located_ : builder_.error();
      Error error = Error::of(inner.code(), "node ", i, node.name.empty() ? "" : " ", zrt::slice(node.name, 0, 60),
                              " (", zrt::slice(node.op, 0, 40), "): ");
      located_ = error.append(inner.text());
      return std::unexpected<Error>(*located_);
    }
    --depth_;
    return {};
  }

  /// What an attribute named in a function's body is: the calling node's, else the function's default, else null.
  [[nodiscard]] const AttributeView* bound(std::string_view name) const noexcept { return bound(name, frame_); }

  /// A known value as a literal of the program.
  [[nodiscard]] Tensor literal(const Value& v) noexcept {
    if (v.data.size() < kSharedBytes) return builder_.literal(v.type, v.data);
    for (const Shared& had : shared_)
      if (had.data == v.data.data() && had.literal.type() == v.type) return had.literal;
    const Tensor made = builder_.literal(v.type, v.data);
    if (auto r = shared_.push_back({v.data.data(), made}); !r) builder_.set(r.error());
    return made;
  }
  /// Counts a graph of a node that is read, in each trip of a loop once more. False where that is too much.
  [[nodiscard]] bool may_read_again(std::size_t bytes) noexcept {
    // A graph without a byte costs a call too.
    const std::size_t cost = bytes + 64;
    if (cost > nested_room_) return false;
    nested_room_ -= cost;
    return true;
  }
  /// Counts bytes of known values that are kept or gone through.
  [[nodiscard]] Result<void> charge(std::size_t bytes) noexcept {
    if (bytes > room_)
      return fail(Errc::limit_exceeded, "known values take more than four times the file and ", kMaxKeptBytes,
                  " bytes");
    room_ -= bytes;
    return {};
  }
  /// Keeps `bytes` as long as the reader.
  [[nodiscard]] Result<Span<const std::byte>> keep(Vector<std::byte> bytes) noexcept {
    if (auto r = charge(bytes.size()); !r) return pass(r);
    if (auto r = kept_.push_back(std::move(bytes)); !r) return pass(r);
    return kept_.back().span();
  }
  /// Errors: Errc::unimplemented where the caller takes no strings.
  [[nodiscard]] Result<void> expect_strings_taken() const noexcept {
    return options_->strings != nullptr ? Result<void>{} : std::unexpected<Error>(strings_not_taken());
  }
  /// The string of that number; valid until the next one is added.
  [[nodiscard]] std::string_view string_at(std::int64_t number) const noexcept {
    return options_->strings == nullptr ? std::string_view() : options_->strings->table[number];
  }
  /// The number of a string that the model makes. It is no part of another one.
  [[nodiscard]] Result<std::int64_t> number_of(std::string_view text) noexcept {
    if (auto r = expect_strings_taken(); !r) return pass(r);
    if (auto r = charge(text.size() + sizeof(std::int64_t)); !r) return pass(r);
    return options_->strings->table.number_of(text);
  }
  /// Keeps the tensors of a sequence as long as the reader.
  [[nodiscard]] Result<Value> sequence_of(Vector<Value> values) noexcept {
    for (const Value& v : values)
      if (v.strings != values[0].strings) return fail(Errc::dtype_mismatch, "a sequence holds strings and numbers");
    if (values.size() > kMaxSequenceTensors - sequence_tensors_)
      return fail(Errc::limit_exceeded, "sequences hold more than ", kMaxSequenceTensors, " tensors together");
    sequence_tensors_ += values.size();
    if (auto r = sequences_.push_back(std::move(values)); !r) return pass(r);
    Value v;
    v.sequence = sequences_.back().span();
    return v;
  }
  /// Tells the caller that the value of an input must be known.
  void need(std::string_view name) const noexcept {
    if (options_->needed != nullptr) *options_->needed = Name(name);
  }
  /// The first input that leaves extents open; tells the caller that they must be known. Empty where there is none.
  [[nodiscard]] std::string_view need_extents() const noexcept {
    if (options_->open_input != nullptr) *options_->open_input = Name(open_input_);
    return open_input_;
  }
  [[nodiscard]] static Name named(std::string_view text) noexcept {
    const Name name(text);
    return name.fits() ? name : Name();
  }

  /// Translates one node by the table of operators.
  static void translate(NodeCall& call) noexcept;

 private:
  struct Shared {
    const std::byte* data;
    Tensor literal;
  };

  /// A function whose body is read.
  struct Frame {
    const NodeView* caller;
    const FunctionView* function;
    const Frame* around;
  };

  [[nodiscard]] static const AttributeView* bound(std::string_view name, const Frame* frame) noexcept {
    if (frame == nullptr) return nullptr;
    const AttributeView* a = frame->caller->find(name);
    if (a != nullptr && !a->reference.empty()) a = bound(a->reference, frame->around);
    if (a != nullptr) return a;
    for (const AttributeView& otherwise : frame->function->defaults)
      if (otherwise.name == name) return &otherwise;
    return nullptr;
  }
  /// Translates the body of a function in place of the node that calls it.
  void inline_function(NodeCall& call, const FunctionView& function) noexcept {
    const NodeView& node = call.node();
    if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size())
      return call.fail(Errc::invalid_file, "function ", zrt::slice(function.name, 0, 40), " has ",
                       function.inputs.size(), " inputs and ", function.outputs.size(), " outputs, the node gives ",
                       node.inputs.size(), " and ", node.outputs.size());
    if (function.imports.empty())
      return call.fail(Errc::invalid_file, "function ", zrt::slice(function.name, 0, 40), " imports no opset");
    Scope inner(allocator());
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (call.has(i))
        if (auto r = inner.add(function.inputs[i], call.any_value(i)); !r) return call.fail(r.error());
    for (const AttributeView& a : node.attributes)
      if (!function.has_attribute(a.name))
        return call.fail(Errc::invalid_file, "attribute ", zrt::slice(a.name, 0, 40), " is none of function ",
                         zrt::slice(function.name, 0, 40));
    if (call.failed()) return;
    const Frame frame{&node, &function, frame_};
    const Span<const OpsetImport> around = imports_;
    frame_ = &frame;
    imports_ = function.imports.span();
    const auto read = read_nodes(function.nodes.span(), inner);
    frame_ = frame.around;
    imports_ = around;
    if (!read) return call.fail(read.error());
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!call.has_out(i)) continue;
      const Value* v = inner.find(function.outputs[i]);
      if (v == nullptr)
        return call.fail(Errc::dangling_value, "output ", zrt::slice(function.outputs[i], 0, 60), " of function ",
                         zrt::slice(function.name, 0, 40), " is computed by no node");
      call.bind(node.outputs[i], *v);
    }
  }

  /// The builder's error, with what it is about before its text.
  [[nodiscard]] std::unexpected<Error> about(std::string_view what, std::string_view name) const noexcept {
    Error error = Error::of(builder_.error().code(), what, zrt::slice(name, 0, 80), ": ");
    return std::unexpected<Error>(error.append(builder_.error().text()));
  }
  /// Refuses, while it is known which node it is, what a graph cannot hold of the instructions from `first` on: numbers
  /// of more than 32 bits, and tensors of more bytes than 64 bits count.
  void check_sizes(std::size_t first) noexcept {
    const ptir::Program& p = builder_.program();
    for (const ptir::Instruction& i : builder_.instructions().subspan(first)) {
      const ptir::OpInfo& op = *ptir::find_op(i.opcode);
      const auto attributes = p.attributes_of(i);
      const auto check = [&](std::size_t f, std::int64_t number) {
        if (number > std::int64_t{0xffffffff})
          builder_.set(Error::of(Errc::limit_exceeded, op.name, ": ", op.fields()[f].name, " holds ", number,
                                 ", which does not fit 32 bits"));
      };
      for (std::size_t f = 0; f < attributes.size() && f < op.field_count; ++f) {
        const ptir::AttributeKind kind = attributes[f].kind;
        if (kind == ptir::AttributeKind::integer) check(f, attributes[f].as_integer());
        if (kind == ptir::AttributeKind::integers || kind == ptir::AttributeKind::shape)
          for (const std::int64_t number : p.words_of(attributes[f])) check(f, number);
      }
      for (const ptir::Operand& operand : p.operands_of(i))
        if (operand.kind == ptir::Operand::Kind::literal) check_size(p.literals[operand.id].type, op.name);
      for (const ptir::TensorType& type : p.types_of(i.output)) check_size(type, op.name);
    }
  }
  void check_size(const ptir::TensorType& type, std::string_view what) noexcept {
    bool fits = ptir::literal_bytes(type).ok();
    for (const ptir::Dim dim : type.shape.view()) fits = fits && dim.constant() <= 0xffffffff;
    if (fits) return;
    Error error = Error::of(Errc::limit_exceeded, what, ": a tensor is ");
    builder_.set(ptir::append_type(error, builder_.program(), type).append(", more than a graph holds"));
  }
  /// Makes an output of the model results of the program: of a sequence each tensor, of a value that is not there none.
  [[nodiscard]] Result<void> give(const ValueView& output, const Value& v) noexcept {
    const auto name = zrt::slice(output.name, 0, 80);
    const auto form = read_form(output.type);
    if (!form) return pass(form);
    if (!output.type.empty() && (v.absent ? !form->optional : v.sequence.has_value() != form->sequence))
      return fail(Errc::dtype_mismatch, "output ", name, " is ",
                  v.absent     ? "not there"
                  : v.sequence ? "a sequence"
                               : "a tensor",
                  ", which the model does not declare");
    if (v.absent) return {};
    if (!v.sequence) return give_tensor({output.name, form->tensor}, v, named(output.name));
    for (std::size_t i = 0; i < v.sequence->size(); ++i)
      if (auto r = give_tensor({output.name, form->tensor}, (*v.sequence)[i], element_name(output.name, i)); !r)
        return r;
    return {};
  }
  [[nodiscard]] Result<void> give_tensor(const ValueView& output, const Value& v, const Name& name) noexcept {
    if (auto r = expect_declared(output, v); !r) return r;
    if (v.strings) {
      const std::size_t place = builder_.program().regions[0].results.size();
      if (auto r = options_->strings->outputs.push_back(static_cast<std::uint32_t>(place)); !r) return r;
    }
    check_size(v.type, "the model");
    const Tensor x = v.known ? builder_.constant(v.type, v.data) : *v.tensor;
    if (builder_.failed()) return about("output ", output.name);
    // Names belong to values, so what bears another name, or can bear none, leaves as a value of its own.
    builder_.result(may_be_named(x, name) ? builder_.name(x, name)
                                          : builder_.name(builder_.reshape(x, x.shape()), name));
    return {};
  }
  /// Compares a result with the type that the model declares for it. Where the caller gave an input other extents,
  /// element type and rank must agree; a name agrees with any extent.
  [[nodiscard]] Result<void> expect_declared(const ValueView& output, const Value& value) const noexcept {
    const ptir::TensorType& found = value.type;
    const auto name = zrt::slice(output.name, 0, 80);
    if (output.type.empty()) return {};
    bool shaped = false, strings = false;
    const auto any = [](std::string_view, std::uint8_t) { return ptir::Dim::any(); };
    const auto declared = read_type(output.type, any, &shaped, &strings);
    if (!declared) {
      Error error = Error::of(declared.error().code(), "output ", name, ": ");
      return std::unexpected<Error>(error.append(declared.error().text()));
    }
    if (declared->dtype != found.dtype || strings != value.strings)
      return fail(Errc::dtype_mismatch, "output ", name, " is of ", element_words(found.dtype, value.strings),
                  ", the model declares ", element_words(declared->dtype, strings));
    if (!shaped) return {};
    if (declared->shape.rank != found.shape.rank)
      return fail(Errc::shape_mismatch, "output ", name, " has ", unsigned{found.shape.rank},
                  " axes, the model declares ", unsigned{declared->shape.rank});
    for (std::uint8_t i = 0; i < found.shape.rank && !reshaped_; ++i) {
      const ptir::Dim said = declared->shape[i];
      const ptir::Dim is = found.shape[i];
      if (said.is_constant() && is.is_constant() && !(said == is))
        return fail(Errc::shape_mismatch, "output ", name, " has an extent of ", is.constant(), " on axis ",
                    unsigned{i}, ", the model declares ", said.constant());
    }
    return {};
  }
  [[nodiscard]] static std::string_view element_words(DType dtype, bool strings) noexcept {
    return strings ? std::string_view("strings") : zrt::name(dtype);
  }
  /// True for an input that is declared to be of strings.
  [[nodiscard]] static bool is_of_strings(const ValueView& input) noexcept {
    bool shaped = false, strings = false;
    const auto any = [](std::string_view, std::uint8_t) { return ptir::Dim::any(); };
    (void)read_type(input.type, any, &shaped, &strings);
    return strings;
  }
  /// A value of the caller's has the bytes of its type, and the element type that the model declares. Its extents may be
  /// others, as those of ReadOptions::types may.
  [[nodiscard]] Result<void> check_bound(const BoundInput& bound, const ValueView& input) const noexcept {
    const auto name = zrt::slice(bound.name, 0, 80);
    if (!bound.type.shape.is_constant())
      return fail(Errc::shape_mismatch, "the value of input ", name, " has an open extent");
    const CheckedSize bytes = ptir::literal_bytes(bound.type);
    if (!bytes.ok() || bytes.raw() != bound.data.size())
      return fail(Errc::shape_mismatch, "the value of input ", name, " has ", bound.data.size(),
                  " bytes, which its type does not have");
    bool shaped = false, strings = false;
    const auto any = [](std::string_view, std::uint8_t) { return ptir::Dim::any(); };
    const auto declared = read_type(input.type, any, &shaped, &strings);
    if (declared && declared->dtype != bound.type.dtype)
      return fail(Errc::dtype_mismatch, "the value of input ", name, " is of ", zrt::name(bound.type.dtype),
                  ", the model declares ", strings ? "strings, whose numbers are " : "", zrt::name(declared->dtype));
    for (std::size_t at = 0; declared && strings && at < bound.data.size(); at += sizeof(std::int64_t)) {
      std::int64_t number = 0;
      std::memcpy(&number, bound.data.data() + at, sizeof number);
      if (number < 0 || static_cast<std::uint64_t>(number) >= options_->strings->table.size())
        return fail(Errc::invalid_argument, "the value of input ", name, " has the number ", number, " of ",
                    options_->strings->table.size(), " strings");
    }
    return {};
  }
  [[nodiscard]] const InputLength* length_of(std::string_view name) const noexcept {
    for (const InputLength& length : options_->lengths)
      if (length.name == name) return &length;
    return nullptr;
  }
  /// True when an input of the model, or a tensor of an input that is a sequence, has that name.
  [[nodiscard]] bool is_called(const ValueView& input, std::string_view name) const noexcept {
    const auto form = read_form(input.type);
    if (!form || !form->sequence) return input.name == name;
    const InputLength* length = length_of(input.name);
    for (std::size_t i = 0; length != nullptr && i < length->tensors && i < kMaxSequenceTensors; ++i)
      if (element_name(input.name, i).view() == name) return true;
    return false;
  }
  [[nodiscard]] Result<void> read_input(const ValueView& input, Scope& scope) noexcept {
    if (scope.find(input.name) != nullptr) return {};
    const auto name = zrt::slice(input.name, 0, 80);
    const auto form = read_form(input.type);
    if (!form) return pass(form);
    const InputLength* length = length_of(input.name);
    if (length != nullptr && length->absent) {
      if (!form->optional) return fail(Errc::invalid_argument, "input ", name, " is not optional");
      Value none;
      none.absent = true;
      return scope.add(input.name, none);
    }
    if (!form->sequence) {
      const auto v = read_tensor_input({input.name, form->tensor});
      return v ? scope.add(input.name, *v) : pass(v);
    }
    if (length == nullptr)
      return fail(Errc::unimplemented, "input ", name,
                  " is a sequence: how many tensors it holds must be known, by ReadOptions::lengths");
    if (length->tensors > kMaxSequenceTensors)
      return fail(Errc::limit_exceeded, "input ", name, " holds ", length->tensors, " tensors, expected at most ",
                  kMaxSequenceTensors);
    Vector<Value> values(allocator());
    for (std::size_t i = 0; i < length->tensors; ++i) {
      const Name element = element_name(input.name, i);
      Vector<std::byte> letters(allocator());
      if (auto r = letters.append(as_bytes(Span(element.view().data(), element.view().size()))); !r) return r;
      const auto kept = keep(std::move(letters));
      if (!kept) return pass(kept);
      const auto v = read_tensor_input({{reinterpret_cast<const char*>(kept->data()), kept->size()}, form->tensor});
      if (!v) return pass(v);
      if (auto r = values.push_back(*v); !r) return r;
    }
    const auto made = sequence_of(std::move(values));
    return made ? scope.add(input.name, *made) : pass(made);
  }
  /// An input that is a tensor, or a tensor of one that is a sequence.
  [[nodiscard]] Result<Value> read_tensor_input(const ValueView& input) noexcept {
    const bool strings = is_of_strings(input);
    if (const auto taken = strings ? expect_strings_taken() : Result<void>(); !taken) {
      Error error = Error::of(taken.error().code(), "input ", zrt::slice(input.name, 0, 80), ": ");
      return std::unexpected<Error>(error.append(taken.error().text()));
    }
    const auto of_input = [&](const ptir::TensorType& type, std::optional<Tensor> tensor, Span<const std::byte> data) {
      Value v{type, tensor, data, !tensor, tensor ? input.name : std::string_view()};
      v.strings = strings;
      return v;
    };
    for (const BoundInput& bound : options_->values)
      if (bound.name == input.name) {
        if (auto r = check_bound(bound, input); !r) return pass(r);
        return of_input(bound.type, {}, bound.data);
      }
    std::optional<ptir::TensorType> given;
    for (const InputType& type : options_->types)
      if (type.name == input.name) given = type.type;
    if (given) {
      // Another extent than a constant one of the file's makes others of what the file declares for results.
      bool shaped = false, said_strings = false;
      const auto any = [](std::string_view, std::uint8_t) { return ptir::Dim::any(); };
      const auto said = read_type(input.type, any, &shaped, &said_strings);
      if (strings && given->dtype != kStringNumbers)
        return fail(Errc::dtype_mismatch, "input ", zrt::slice(input.name, 0, 80), " is of strings, whose numbers are ",
                    zrt::name(kStringNumbers), ", its type in ReadOptions::types is of ", zrt::name(given->dtype));
      reshaped_ = reshaped_ || !said || (shaped && said->shape.rank != given->shape.rank);
      for (std::uint8_t i = 0; !reshaped_ && shaped && i < given->shape.rank; ++i)
        reshaped_ = said->shape[i].is_constant() && !(said->shape[i] == given->shape[i]);
    } else {
      bool said_strings = false;
      const auto extent = [&](std::string_view name, std::uint8_t) {
        for (const NamedExtent& known : options_->extents)
          if (known.symbol == name) return ptir::Dim(std::int64_t{known.extent});
        return name.empty() || name.size() > Name::kCapacity ? ptir::Dim::any() : builder_.dim(name);
      };
      const auto type = read_type(input.type, extent, nullptr, &said_strings);
      if (!type) {
        Error error = Error::of(type.error().code(), "input ", zrt::slice(input.name, 0, 80), ": ");
        return std::unexpected<Error>(error.append(type.error().text()));
      }
      given = *type;
    }
    for (const ptir::Dim dim : given->shape.view())
      if (dim.is_constant() && dim.constant() > std::uint64_t{kMaxExtent})
        return fail(Errc::limit_exceeded, "input ", zrt::slice(input.name, 0, 80), " has an extent of ", dim.constant(),
                    ", expected at most ", kMaxExtent);
    if (open_input_.empty() && !given->shape.is_constant()) open_input_ = input.name;
    if (strings) {
      const std::size_t place = builder_.program().regions[0].parameters.size();
      if (auto r = options_->strings->inputs.push_back(static_cast<std::uint32_t>(place)); !r) return pass(r);
    }
    const Tensor x = builder_.parameter(*given, named(input.name));
    if (builder_.failed()) return about("input ", input.name);
    return of_input(*given, x, {});
  }

  const ReadOptions* options_;
  const ModelView* model_;
  Span<const OpsetImport> imports_;  ///< of the model, or of the function whose body is read
  const Frame* frame_ = nullptr;     ///< the innermost such function
  Builder builder_;
  Vector<Vector<std::byte>> kept_;
  Vector<Shared> shared_;
  Vector<Vector<Value>> sequences_;
  std::string_view open_input_;   ///< the first input with an extent that is not constant
  bool reshaped_ = false;         ///< an input has other extents than the file says
  std::optional<Error> located_;  ///< the first error, with the nodes that it is in
  std::size_t depth_ = 0;
  std::size_t nodes_ = 0;
  std::size_t sequence_tensors_ = 0;
  std::size_t room_;         ///< bytes that may still be kept
  std::size_t nested_room_;  ///< bytes of graphs of nodes that may still be read
};

inline const AttributeView* NodeCall::find(std::string_view key) const noexcept {
  const AttributeView* a = node_->find(key);
  return a == nullptr || a->reference.empty() ? a : reader_->bound(a->reference);
}
inline Tensor NodeCall::known_tensor(const Value& v) noexcept { return reader_->literal(v); }
inline Result<TensorData> NodeCall::tensor_in(const AttributeView& attribute) noexcept {
  return reader_->tensor_in(attribute.tensor);
}
inline const Allocator& NodeCall::allocator() const noexcept { return reader_->allocator(); }

inline void NodeCall::fail_dynamic() noexcept {
  if (failed()) return;
  const std::string_view open = reader_->need_extents();
  fail(Errc::unimplemented, "an extent must be known when the program is made", open.empty() ? "" : ", and input ",
       zrt::slice(open, 0, 60), open.empty() ? "" : " leaves extents open");
}

inline bool NodeCall::need_known(const Value& v, std::size_t i, std::string_view what) noexcept {
  if (v.known || failed()) return v.known && !failed();
  reader_->need(v.source);
  fail(Errc::unimplemented, what, " (input ", i, has(i) ? ", " : "", has(i) ? zrt::slice(node_->inputs[i], 0, 60) : "",
       ") must be known when the program is made");
  return false;
}

inline void NodeCall::out_known(std::size_t i, const ptir::TensorType& type, Span<const std::byte> data) noexcept {
  if (!has_out(i)) return;
  if (const CheckedSize size = ptir::literal_bytes(type); !size.ok() || data.size() != size.raw())
    return fail(Errc::invalid_params, "known elements have ", data.size(), " bytes, expected ", size.raw());
  Vector<std::byte> bytes(allocator());
  if (auto r = bytes.append(data); !r) return fail(r.error());
  const auto kept = reader_->keep(std::move(bytes));
  if (!kept) return fail(kept.error());
  bind(node_->outputs[i], {type, {}, *kept, true});
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
