// SPDX-License-Identifier: Apache-2.0
// examples/zrt/onnx_variables.cpp: initialisers as what training moves.
#include "onnx_variables.hpp"
#include <zrt/ir/onnx.hpp>

#include <algorithm>
#include <cstring>
#include <set>

namespace program {
namespace {

namespace onnx = zrt::ir::onnx;
namespace ptir = zrt::ir::ptir;

zrt::Result<onnx::GraphView> graph_of(const OnnxSource& source) {
  const auto bytes = source.model.span();
  const auto model =
      onnx::read_model({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, zrt::system_allocator());
  if (!model) return zrt::pass(model);
  return onnx::read_graph(model->graph, zrt::system_allocator());
}

/// What batch norms read as mean and variance, which no gradient moves.
std::set<std::string_view> statistics_in(const onnx::GraphView& graph) {
  std::set<std::string_view> names;
  for (const onnx::NodeView& node : graph.nodes)
    for (std::size_t i = 3; node.op == "BatchNormalization" && i < node.inputs.size(); ++i)
      names.insert(node.inputs[i]);
  return names;
}

Array array_of(const onnx::TensorData& tensor) {
  Array array{{tensor.type.dtype, {}}, {tensor.data.begin(), tensor.data.end()}};
  for (const ptir::Dim dim : tensor.type.shape.view())
    array.type.shape = array.type.shape.appended(static_cast<std::uint32_t>(dim.constant()));
  return array;
}

}  // namespace

zrt::Result<std::vector<OnnxVariable>> variables_of(OnnxSource& source) {
  const auto graph = graph_of(source);
  if (!graph) return zrt::pass(graph);
  const std::set<std::string_view> statistics = statistics_in(*graph);
  std::vector<OnnxVariable> variables;
  for (const std::string_view message : graph->initializers) {
    const auto tensor = onnx::read_tensor(message, zrt::system_allocator(), &source.external);
    if (!tensor) return zrt::pass(tensor);
    if (zrt::is_float(tensor->type.dtype) && tensor->type.shape.rank != 0 && !statistics.contains(tensor->name))
      variables.push_back({std::string(tensor->name), array_of(*tensor)});
  }
  return variables;
}

zrt::Result<ptir::Program> read_onnx(OnnxSource& source, std::vector<OnnxVariable>& variables,
                                     const std::vector<DeclaredTensor>& types) {
  for (;;) {
    std::vector<std::string_view> names;
    for (const OnnxVariable& variable : variables) names.push_back(variable.name);
    std::vector<onnx::InputType> inputs;
    for (const DeclaredTensor& type : types) {
      ptir::Shape shape;
      for (const DeclaredAxis& axis : type.axes) shape.append(ptir::Dim(std::int64_t{*axis.extent}));
      inputs.push_back({type.name, {type.dtype, shape}});
    }
    zrt::Name needed;
    onnx::ReadOptions options;
    options.variables = names;
    options.types = inputs;
    options.needed = &needed;
    options.external = &source.external;
    auto program = onnx::read(source.model.span(), options);
    if (program) return program;
    // One after the other, the reader names those that it must know.
    const auto known =
        std::ranges::find_if(variables, [&](const OnnxVariable& variable) { return variable.name == needed.view(); });
    if (needed.view().empty() || known == variables.end()) return program;
    variables.erase(known);
  }
}

zrt::Result<std::string> onnx_with(OnnxSource& source, std::span<const OnnxVariable> variables) {
  const auto graph = graph_of(source);
  if (!graph) return zrt::pass(graph);
  const auto file = source.model.span();
  std::string bytes(reinterpret_cast<const char*>(file.data()), file.size());
  for (const std::string_view message : graph->initializers) {
    const auto tensor = onnx::read_tensor(message, zrt::system_allocator(), &source.external);
    if (!tensor) return zrt::pass(tensor);
    const auto variable =
        std::ranges::find_if(variables, [&](const OnnxVariable& v) { return v.name == tensor->name; });
    if (variable == variables.end()) continue;
    const std::byte* const at = tensor->data.data();
    if (std::less<>{}(at, file.data()) || !std::less<>{}(at, file.data() + file.size()))
      return zrt::fail(zrt::Errc::unimplemented, "initializer ", tensor->name,
                       " has its elements in another file or as numbers one by one; write a .npz");
    std::memcpy(bytes.data() + (at - file.data()), variable->value.data.data(), variable->value.data.size());
  }
  return bytes;
}

}  // namespace program
