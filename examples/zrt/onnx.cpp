// SPDX-License-Identifier: Apache-2.0
// examples/zrt/onnx.cpp: what an ONNX file holds and needs, and how fast it runs.
#include "commands.hpp"
#include "npz.hpp"
#include "onnx_program.hpp"
#include "output.hpp"
#include "program_file.hpp"
#include "program_work.hpp"
#include "tensor_output.hpp"
#include "tensor_program.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace program {
namespace {

namespace ptir = zrt::ir::ptir;
using Json = nlohmann::ordered_json;

std::string axes_text(const DeclaredTensor& tensor) {
  if (!tensor.shaped) return " of any shape";
  std::string text;
  for (const DeclaredAxis& axis : tensor.axes)
    text += (text.empty() ? "" : ", ") + (axis.extent           ? std::to_string(*axis.extent)
                                          : axis.symbol.empty() ? std::string("?")
                                                                : axis.symbol);
  return " [" + text + "]";
}

std::string element_text(const DeclaredTensor& tensor) {
  return tensor.strings ? "strings" : std::string(name(tensor.dtype));
}

Json declared_json(const std::vector<DeclaredTensor>& tensors) {
  Json list = Json::array();
  for (const DeclaredTensor& tensor : tensors) {
    Json shape = Json::array();
    for (const DeclaredAxis& axis : tensor.axes) {
      if (axis.extent)
        shape.push_back(*axis.extent);
      else
        shape.push_back(axis.symbol.empty() ? Json(nullptr) : Json(axis.symbol));
    }
    list.push_back(
        {{"name", tensor.name}, {"dtype", element_text(tensor)}, {"shape", tensor.shaped ? shape : Json(nullptr)}});
  }
  return list;
}

/// The symbols of the inputs, each once.
std::vector<std::string> input_symbols(const OnnxFile& file) {
  std::vector<std::string> symbols;
  for (const DeclaredTensor& input : file.inputs)
    for (const DeclaredAxis& axis : input.axes)
      if (!axis.symbol.empty() && std::ranges::find(symbols, axis.symbol) == symbols.end())
        symbols.push_back(axis.symbol);
  return symbols;
}

Json operators_json(const OnnxFile& file) {
  Json list = Json::array();
  for (const UsedOperator& used : file.operators) {
    list.push_back({{"name", used.name}, {"count", used.count}});
    if (!used.refusal.empty()) list.back()["refused"] = used.refusal;
  }
  return list;
}

/// What the program takes where all extents are known: instructions, work and memory.
Json needs_json(const ptir::Program& source, const InspectOnnxOptions& o) {
  for (const ptir::Parameter& input : source.regions[0].parameters)
    if (!input.type.shape.is_constant()) return "input " + input_name(input) + " has open extents: give --extent";
  std::vector<ptir::Shape> shapes;
  for (const ptir::Parameter& input : source.regions[0].parameters) shapes.push_back(input.type.shape);
  const auto ready = ready_program(source, shapes, {o.backend, 1});
  if (!ready) return describe(ready.error());
  const zrt::plan::ExecutionPlan& plan = (*ready)->plan().plan;
  return {{"instructions", plan.instructions.size()},
          {"flops", flops(source)},
          {"arena_bytes", (*ready)->arena_bytes()},
          {"constant_bytes", plan.constants.size()}};
}

std::string tensors_text(std::string_view what, const std::vector<DeclaredTensor>& tensors) {
  std::string text;
  for (const DeclaredTensor& tensor : tensors)
    text += std::string(what) + " " + tensor.name + ": " + element_text(tensor) + axes_text(tensor) + "\n";
  return text;
}

std::string onnx_text(const OnnxFile& file, const Json& json) {
  std::string text = "opset " + std::to_string(file.opset) + ", " + std::to_string(file.nodes) + " nodes, " +
                     std::to_string(file.parameters) + " parameters (" + bytes_text(file.parameter_bytes) + ")\n" +
                     tensors_text("input", file.inputs) + tensors_text("output", file.outputs);
  for (const std::string& symbol : input_symbols(file)) text += "symbol " + symbol + "\n";
  for (const UsedOperator& used : file.operators)
    text += "operator " + used.name + ": " + std::to_string(used.count) +
            (used.refusal.empty() ? "" : ", refused: " + used.refusal) + "\n";
  if (json.contains("refused")) return text + "refused: " + json["refused"].get<std::string>() + "\n";
  const Json& needs = json["needs"];
  if (needs.is_string()) return text + "memory and work: " + needs.get<std::string>() + "\n";
  return text + "instructions: " + std::to_string(needs["instructions"].get<std::uint64_t>()) +
         "\nwork: " + count_text(needs["flops"].get<double>()) +
         "FLOP for one run\nmemory: " + bytes_text(needs["arena_bytes"].get<std::uint64_t>()) +
         " for what is computed, " + bytes_text(needs["constant_bytes"].get<std::uint64_t>()) + " for constants\n";
}

/// Tensors for the inputs that are not fed: ones, which no operator refuses.
Array ones(const ptir::Parameter& input) {
  Array array{{input.type.dtype, {}}, {}};
  for (const ptir::Dim dim : input.type.shape.view())
    array.type.shape = array.type.shape.appended(static_cast<std::uint32_t>(dim.constant()));
  array.data = ones_of(array.type);
  return array;
}

double seconds_from(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

zrt::Result<ptir::Program> benched_source(const BenchOnnxOptions& o, std::vector<std::string>& feeds) {
  if (!o.extents.empty() && feeds.empty()) {
    auto source = open_onnx(o.file);
    if (!source) return zrt::pass(source);
    auto program = read_onnx(*source, o.extents);
    return program ? std::move(program) : std::unexpected(of_file(program.error(), o.file));
  }
  return read_program(o.file, feeds, {});
}

}  // namespace

int onnx_inspect(const InspectOnnxOptions& o) {
  auto source = open_onnx(o.file);
  if (!source) return failed(source.error());
  const auto file = declared_in(*source);
  if (!file) return failed(of_file(file.error(), o.file));
  Json json{{"opset", file->opset},
            {"nodes", file->nodes},
            {"parameters", file->parameters},
            {"parameter_bytes", file->parameter_bytes},
            {"inputs", declared_json(file->inputs)},
            {"outputs", declared_json(file->outputs)},
            {"symbols", input_symbols(*file)},
            {"operators", operators_json(*file)}};
  zrt::ir::onnx::ModelStrings strings;
  const auto read = read_onnx(*source, o.extents, &strings);
  if (read)
    json["needs"] = needs_json(*read, o);
  else
    json["refused"] = describe(read.error());
  const std::string text =
      o.json ? json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : onnx_text(*file, json);
  return print(text) ? kOk : cannot_write("stdout");
}

int onnx_bench(const BenchOnnxOptions& o) {
  auto feeds = feeds_of_archives(o.feeds);
  if (!feeds) return failed(feeds.error());
  const auto begin = std::chrono::steady_clock::now();
  const auto source = benched_source(o, *feeds);
  if (!source) return failed(source.error());
  auto arrays = read_feeds(*source, *feeds);
  if (!arrays) return failed(arrays.error());
  const auto shapes = shapes_of(*source, *arrays);
  if (!shapes) return failed(shapes.error());
  for (std::size_t i = 0; i < arrays->size(); ++i)
    if (!(*arrays)[i]) (*arrays)[i] = ones(source->regions[0].parameters[i]);
  const auto ready = ready_program(*source, *shapes, {o.backend, o.threads});
  if (!ready) return failed(ready.error());
  const double preparing = seconds_from(begin);
  std::vector<zrt::ConstTensorView> inputs;
  for (const auto& array : *arrays) inputs.push_back({array->type.dtype, array->type.shape, array->data});
  std::vector<Array> outputs = room_for_outputs((*ready)->plan().plan);
  std::vector<zrt::TensorView> views;
  for (Array& array : outputs) views.push_back({array.type.dtype, array.type.shape, array.data});
  std::vector<double> times;
  // The first run is not counted: it touches memory for the first time.
  for (std::uint32_t round = 0; round <= o.runs; ++round) {
    const auto start = std::chrono::steady_clock::now();
    if (auto r = (*ready)->run(inputs, views); !r) return failed(r.error());
    if (round != 0) times.push_back(seconds_from(start));
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  const double work = shapes->empty() || is_constant(*source) ? flops(*source) : 0;
  const Json json{{"backend", std::string((*ready)->backend())},
                  {"isa", std::string((*ready)->isa())},
                  {"threads", o.threads},
                  {"prepare_seconds", preparing},
                  {"runs", times.size()},
                  {"median_seconds", median},
                  {"least_seconds", times.front()},
                  {"most_seconds", times.back()},
                  {"flops", work},
                  {"arena_bytes", (*ready)->arena_bytes()}};
  if (o.json) return print(json.dump() + "\n") ? kOk : cannot_write("stdout");
  char text[320];
  (void)std::snprintf(
      text, sizeof text,
      "%s (%s), %u threads\nread, compile and bind: %.1f ms\nrun: %.3f ms (median of %zu; %.3f to %.3f)\n",
      std::string((*ready)->backend()).c_str(), std::string((*ready)->isa()).c_str(), o.threads, preparing * 1e3,
      median * 1e3, times.size(), times.front() * 1e3, times.back() * 1e3);
  std::string out = text;
  if (work > 0) out += "work: " + count_text(work) + "FLOP for one run, " + count_text(work / median) + "FLOP/s\n";
  return print(out) ? kOk : cannot_write("stdout");
}

}  // namespace program
