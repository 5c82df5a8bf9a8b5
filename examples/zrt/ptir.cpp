// SPDX-License-Identifier: Apache-2.0
// examples/zrt/ptir.cpp: runs a program of the portable tensor IR on tensors from files.
#include "commands.hpp"
#include "npy.hpp"
#include "onnx_program.hpp"
#include "output.hpp"
#include "plan_json.hpp"
#include "tensor_output.hpp"
#include "tensor_program.hpp"
#include <zrt/ir/ptir/dot.hpp>
#include <zrt/ir/ptir/json.hpp>
#include <zrt/ir/ptir/text.hpp>
#include <zrt/ir/ptir/verify.hpp>

#include <nlohmann/json.hpp>

namespace program {
namespace {

namespace ptir = zrt::ir::ptir;
using Json = nlohmann::ordered_json;

/// The program in a file; of `feeds`, those that became part of it are taken off.
zrt::Result<ptir::Program> read_program(const PtirOptions& o, std::vector<std::string>& feeds) {
  const std::string& path = o.file;
  const auto text = read_file(path);
  if (!text) return zrt::pass(text);
  if (path.ends_with(".onnx")) return read_onnx(*text, feeds, o.unrolled_trips);
  auto program = path.ends_with(".json") ? ptir::parse_json(*text) : ptir::parse(*text);
  if (!program) return program;
  if (auto r = ptir::verify(*program); !r) return zrt::pass(r);
  return program;
}

/// What --feed calls an input: its name, or its id.
bool is_called(const ptir::Parameter& input, std::string_view name) {
  return name == input.name.view() || name == "%" + std::to_string(input.id);
}
std::string name_of(const ptir::Parameter& input) {
  return input.name.view().empty() ? "%" + std::to_string(input.id) : std::string(input.name.view());
}

/// The fed tensors in the order of the inputs; an input without one is empty and of no shape.
zrt::Result<std::vector<std::optional<Array>>> read_feeds(const ptir::Program& source,
                                                          const std::vector<std::string>& feeds) {
  const auto& inputs = source.regions[0].parameters;
  std::vector<std::optional<Array>> arrays(inputs.size());
  for (const std::string& feed : feeds) {
    const std::size_t equals = feed.find('=');
    if (equals == std::string::npos)
      return zrt::fail(zrt::Errc::invalid_argument, "--feed ", std::string_view(feed), ": expected name=file.npy");
    const std::string name = feed.substr(0, equals);
    std::size_t input = 0;
    while (input < inputs.size() && !is_called(inputs[input], name)) ++input;
    if (input == inputs.size())
      return zrt::fail(zrt::Errc::not_found, "the program has no input ", std::string_view(name));
    if (arrays[input]) return zrt::fail(zrt::Errc::duplicate_name, "input ", std::string_view(name), " is fed twice");
    const auto bytes = read_file(feed.substr(equals + 1));
    if (!bytes) return zrt::pass(bytes);
    auto array = read_npy(*bytes, inputs[input].type.dtype);
    if (!array) return zrt::fail(array.error().code(), "input ", std::string_view(name), ": ", array.error().text());
    arrays[input] = std::move(*array);
  }
  return arrays;
}

/// The shapes to make the program ready for; without a tensor, an input's own where they are constants.
zrt::Result<std::vector<ptir::Shape>> shapes_of(const ptir::Program& source,
                                                const std::vector<std::optional<Array>>& arrays) {
  std::vector<ptir::Shape> shapes;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const ptir::Parameter& input = source.regions[0].parameters[i];
    ptir::Shape shape = input.type.shape;
    if (arrays[i]) {
      shape = {};
      for (std::uint8_t axis = 0; axis < arrays[i]->type.shape.rank; ++axis)
        shape.append(arrays[i]->type.shape[axis].extent);
    } else if (!shape.is_constant()) {
      return zrt::fail(zrt::Errc::invalid_argument, "input ", std::string_view(name_of(input)),
                       " has dynamic extents and no --feed");
    }
    shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace

int ptir_run(const PtirOptions& o) {
  std::vector<std::string> feeds = o.feeds;
  const auto source = read_program(o, feeds);
  if (!source) return failed(source.error());
  if (o.dump == "dot") {
    const auto dot = ptir::to_dot(*source);
    if (!dot) return failed(dot.error());
    return print(dot->view()) ? kOk : cannot_write("stdout");
  }
  const auto arrays = read_feeds(*source, feeds);
  if (!arrays) return failed(arrays.error());
  const auto shapes = shapes_of(*source, *arrays);
  if (!shapes) return failed(shapes.error());
  if (o.dump == "c") {
    const auto code = c_source(*source, *shapes, o.trip_limit);
    if (!code) return failed(code.error());
    return print(code->view()) ? kOk : cannot_write("stdout");
  }
  const auto ready = ready_program(*source, *shapes, {o.backend, o.threads, o.ordering, o.fit, nullptr, o.trip_limit});
  if (!ready) return failed(ready.error());
  TensorProgram& program = **ready;
  const zrt::plan::ExecutionPlan& plan = program.plan().plan;
  if (o.dump == "plan") {
    Json json = plan_json(program.plan(), program.backend(), program.isa());
    json["arena_bytes"] = program.arena_bytes();
    return print(o.json ? json.dump(2) + "\n" : plan_text(json)) ? kOk : cannot_write("stdout");
  }
  std::vector<zrt::ConstTensorView> inputs;
  for (std::size_t i = 0; i < arrays->size(); ++i) {
    const auto& array = (*arrays)[i];
    if (!array)
      return failed(zrt::fail(zrt::Errc::invalid_argument, "input ",
                              std::string_view(name_of(source->regions[0].parameters[i])), " has no --feed")
                        .error());
    inputs.push_back({array->type.dtype, array->type.shape, array->data});
  }
  std::vector<Array> outputs = room_for_outputs(plan);
  std::vector<zrt::TensorView> views;
  for (Array& array : outputs) views.push_back({array.type.dtype, array.type.shape, array.data});
  if (auto r = program.run(inputs, views); !r) return failed(r.error());
  std::vector<std::string> names;
  for (const zrt::plan::PlanPort& port : plan.outputs) names.emplace_back(port.name.view());
  return show_tensors(names, plan, outputs, o.out, o.json);
}

}  // namespace program
