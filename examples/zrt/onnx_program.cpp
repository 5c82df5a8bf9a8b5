// SPDX-License-Identifier: Apache-2.0
// examples/zrt/onnx_program.cpp: reads ONNX files for the tensors that they are fed.
#include "npy.hpp"
#include "npz.hpp"
#include "onnx_program.hpp"
#include "output.hpp"
#include <zrt/ir/onnx.hpp>

#include <algorithm>
#include <set>

namespace program {
namespace {

namespace onnx = zrt::ir::onnx;
namespace ptir = zrt::ir::ptir;

/// A tensor's name, where the tensor need not be read.
std::string_view tensor_name(std::string_view message) {
  std::string_view name;
  (void)onnx::detail::each_field(message, [&](const onnx::WireField& field) -> zrt::Result<void> {
    if (field.number == 8) name = field.bytes;
    return {};
  });
  return name;
}

/// The inputs or outputs of a graph without those that have a value in the file.
zrt::Result<std::vector<DeclaredTensor>> declared_tensors(const onnx::GraphView& graph,
                                                          std::span<const onnx::ValueView> values) {
  std::set<std::string_view> valued;
  for (const std::string_view initializer : graph.initializers) valued.insert(tensor_name(initializer));
  std::vector<DeclaredTensor> out;
  for (const onnx::ValueView& value : values) {
    if (valued.contains(value.name)) continue;
    DeclaredTensor tensor{std::string(value.name), {}, {}, false, false};
    const auto axis = [&](std::string_view symbol, std::uint8_t) {
      tensor.axes.push_back({std::string(symbol), {}});
      return ptir::Dim::any();
    };
    const auto type = onnx::read_type(value.type, axis, &tensor.shaped, &tensor.strings);
    if (!type) {
      if (value.type.empty()) continue;
      return zrt::fail(type.error().code(), std::string_view(tensor.name), ": ", type.error().text());
    }
    tensor.dtype = type->dtype;
    std::vector<DeclaredAxis> open = std::move(tensor.axes);
    tensor.axes.clear();
    std::size_t next = 0;
    for (const ptir::Dim dim : type->shape.view()) {
      if (dim.is_constant())
        tensor.axes.push_back({{}, static_cast<std::uint32_t>(dim.constant())});
      else
        tensor.axes.push_back(next < open.size() ? open[next++] : DeclaredAxis{});
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

zrt::Result<onnx::ModelView> read_model(const OnnxSource& source) {
  const auto bytes = source.model.span();
  return onnx::read_model({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, zrt::system_allocator());
}

/// Why an operator is refused whatever its operands; empty where it is not, and for a function of the model.
std::string operator_refusal(const onnx::ModelView& model, std::string_view domain, std::string_view op) {
  for (const onnx::FunctionView& function : model.functions)
    if (function.name == op && function.domain == domain) return {};
  const auto found = onnx::find_operator(domain, op, onnx::opset_in_force(model.imports.span(), domain));
  return found ? std::string() : std::string(found.error().text());
}

std::uint64_t constant_elements(const ptir::Shape& shape) {
  std::uint64_t count = 1;
  for (const ptir::Dim dim : shape.view()) count *= dim.constant();
  return count;
}

struct Fed {
  std::string feed;
  std::string name;
  Array array;
  ptir::TensorType type{};
  bool bound = false;  ///< its value became part of the program
};

zrt::Result<Fed> read_fed(const onnx::GraphView& graph, const std::string& feed) {
  const std::size_t equals = feed.find('=');
  if (equals == std::string::npos)
    return zrt::fail(zrt::Errc::invalid_argument, "--feed ", std::string_view(feed),
                     ": expected NAME=FILE.npy or ARCHIVE.npz");
  Fed fed{feed, feed.substr(0, equals), {}};
  for (const onnx::ValueView& input : graph.inputs) {
    if (input.name != fed.name) continue;
    const auto declared = onnx::read_type(input.type, [](std::string_view, std::uint8_t) { return ptir::Dim::any(); });
    if (!declared) return zrt::pass(declared);
    const auto bytes = read_npy_file(feed.substr(equals + 1));
    if (!bytes) return zrt::pass(bytes);
    auto array = read_npy(*bytes, declared->dtype);
    if (!array)
      return zrt::fail(array.error().code(), "input ", std::string_view(fed.name), ": ", array.error().text());
    fed.array = std::move(*array);
    fed.type.dtype = declared->dtype;
    for (std::uint8_t axis = 0; axis < fed.array.type.shape.rank; ++axis)
      fed.type.shape.append(ptir::Dim(fed.array.type.shape[axis].extent));
    return fed;
  }
  std::string names;
  if (const auto inputs = declared_tensors(graph, graph.inputs.span()))
    for (const DeclaredTensor& input : *inputs) names += (names.empty() ? "" : ", ") + input.name;
  return zrt::fail(zrt::Errc::not_found, "the program has no input ", std::string_view(fed.name),
                   ", its inputs: ", names.empty() ? std::string_view("none") : std::string_view(names));
}

/// `error` with the library's options called as the command line calls them.
zrt::Error in_command_line_words(const zrt::Error& error) {
  constexpr std::string_view kLibrary = "ReadOptions::unrolled_trips";
  std::string text(error.text());
  const std::size_t at = text.find(kLibrary);
  return at == std::string::npos
             ? error
             : zrt::Error::of(error.code(), std::string_view(text.replace(at, kLibrary.size(), "--unrolled-trips")));
}

/// Checks the tensors against what the file declares: the number of axes, extents, and that a symbol is one number.
///
/// Errors: Errc::shape_mismatch naming input and axis.
zrt::Result<void> check_declared(const std::vector<DeclaredTensor>& inputs, const std::vector<Fed>& all) {
  std::map<std::string, std::pair<std::uint32_t, std::string_view>> symbols;
  for (const Fed& fed : all) {
    const auto input =
        std::find_if(inputs.begin(), inputs.end(), [&](const DeclaredTensor& t) { return t.name == fed.name; });
    if (input == inputs.end() || !input->shaped) continue;
    const zrt::Shape& shape = fed.array.type.shape;
    if (shape.rank != input->axes.size())
      return zrt::fail(zrt::Errc::shape_mismatch, "input ", std::string_view(fed.name), ": expected ",
                       input->axes.size(), " axes, found ", unsigned{shape.rank});
    for (std::uint8_t axis = 0; axis < shape.rank; ++axis) {
      const DeclaredAxis& expected = input->axes[axis];
      const std::uint32_t found = shape[axis].extent;
      if (expected.extent && *expected.extent != found)
        return zrt::fail(zrt::Errc::shape_mismatch, "input ", std::string_view(fed.name), ", axis ", unsigned{axis},
                         ": expected ", *expected.extent, ", found ", found);
      if (expected.symbol.empty()) continue;
      const auto [had, first] = symbols.try_emplace(expected.symbol, found, fed.name);
      if (!first && had->second.first != found)
        return zrt::fail(zrt::Errc::shape_mismatch, "input ", std::string_view(fed.name), ", axis ", unsigned{axis},
                         ": expected ", had->second.first, ", which ", std::string_view(expected.symbol),
                         " is in input ", had->second.second, ", found ", found);
    }
  }
  return {};
}

}  // namespace

zrt::Result<OnnxSource> open_onnx(const std::string& path) {
  auto model = zrt::FileMapping::open(path, zrt::system_allocator());
  if (!model) return zrt::pass(model);
  auto external = onnx::ExternalData::beside(path, zrt::system_allocator());
  if (!external) return zrt::pass(external);
  return OnnxSource{std::move(*model), std::move(*external)};
}

zrt::Result<OnnxFile> declared_in(OnnxSource& source) {
  const auto model = read_model(source);
  if (!model) return zrt::pass(model);
  const auto graph = onnx::read_graph(model->graph, zrt::system_allocator());
  if (!graph) return zrt::pass(graph);
  OnnxFile file{model->opset(), {}, {}, {}, graph->nodes.size(), 0, 0};
  auto inputs = declared_tensors(*graph, graph->inputs.span());
  if (!inputs) return zrt::pass(inputs);
  auto outputs = declared_tensors(*graph, graph->outputs.span());
  if (!outputs) return zrt::pass(outputs);
  file.inputs = std::move(*inputs);
  file.outputs = std::move(*outputs);
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> counts;
  for (const onnx::NodeView& node : graph->nodes) ++counts[{node.domain, node.op}];
  for (const auto& [name, count] : counts) {
    std::string full = name.first.empty() || name.first == "ai.onnx" ? "" : std::string(name.first) + ".";
    file.operators.push_back(
        {full + std::string(name.second), count, operator_refusal(*model, name.first, name.second)});
  }
  onnx::StringTable strings;
  for (const std::string_view message : graph->initializers) {
    const auto tensor = onnx::read_tensor(message, zrt::system_allocator(), &source.external, &strings);
    if (!tensor) return zrt::pass(tensor);
    if (tensor->strings) continue;
    file.parameters += tensor->type.shape.is_constant() ? constant_elements(tensor->type.shape) : 0;
    file.parameter_bytes += tensor->data.size();
  }
  return file;
}

zrt::Result<ptir::Program> read_onnx(OnnxSource& source, const std::map<std::string, std::uint32_t>& extents,
                                     onnx::ModelStrings* strings) {
  std::vector<onnx::NamedExtent> named;
  for (const auto& [symbol, extent] : extents) named.push_back({symbol, extent});
  onnx::ReadOptions options;
  options.extents = named;
  options.strings = strings;
  options.external = &source.external;
  return onnx::read(source.model.span(), options);
}

zrt::Result<ptir::Program> read_onnx(OnnxSource& source, std::vector<std::string>& feeds,
                                     std::optional<std::int64_t> unrolled_trips) {
  const auto model = read_model(source);
  if (!model) return zrt::pass(model);
  const auto graph = onnx::read_graph(model->graph, zrt::system_allocator());
  if (!graph) return zrt::pass(graph);
  std::vector<Fed> all;
  for (const std::string& feed : feeds) {
    auto fed = read_fed(*graph, feed);
    if (!fed) return zrt::pass(fed);
    all.push_back(std::move(*fed));
  }
  const auto inputs = declared_tensors(*graph, graph->inputs.span());
  if (!inputs) return zrt::pass(inputs);
  if (auto r = check_declared(*inputs, all); !r) return zrt::pass(r);
  // The reader names one input after the other whose value it needs.
  for (;;) {
    std::vector<onnx::BoundInput> values;
    std::vector<onnx::InputType> types;
    for (const Fed& fed : all) {
      if (fed.bound) values.push_back({fed.name, fed.type, fed.array.data});
      types.push_back({fed.name, fed.type});
    }
    zrt::Name needed, open;
    onnx::ReadOptions options;
    options.values = values;
    options.types = types;
    options.needed = &needed;
    options.open_input = &open;
    if (unrolled_trips) options.unrolled_trips = *unrolled_trips;
    options.external = &source.external;
    auto program = onnx::read(source.model.span(), options);
    if (!program) {
      if (!open.view().empty())
        return zrt::fail(program.error().code(), "input ", open.view(),
                         " has dynamic extents and no --feed: ", program.error().text());
      const auto fed =
          std::find_if(all.begin(), all.end(), [&](const Fed& f) { return !f.bound && f.name == needed.view(); });
      if (needed.view().empty() || fed == all.end()) return std::unexpected(in_command_line_words(program.error()));
      fed->bound = true;
      continue;
    }
    feeds.clear();
    for (const Fed& fed : all)
      if (!fed.bound) feeds.push_back(fed.feed);
    return program;
  }
}

}  // namespace program
