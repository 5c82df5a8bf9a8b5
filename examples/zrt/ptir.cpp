// SPDX-License-Identifier: Apache-2.0
// examples/zrt/ptir.cpp: runs a program of the portable tensor IR on tensors from files.
#include "commands.hpp"
#include "npy.hpp"
#include "onnx_program.hpp"
#include "output.hpp"
#include "plan_json.hpp"
#include "tensor_program.hpp"
#include <zrt/core/cast.hpp>
#include <zrt/ir/ptir/dot.hpp>
#include <zrt/ir/ptir/json.hpp>
#include <zrt/ir/ptir/text.hpp>
#include <zrt/ir/ptir/verify.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace program {
namespace {

namespace ptir = zrt::ir::ptir;
using Json = nlohmann::ordered_json;
using zrt::DType;

/// The program in a file; of `feeds`, those that became part of it are taken off.
zrt::Result<ptir::Program> read_program(const std::string& path, std::vector<std::string>& feeds) {
  const auto text = read_file(path);
  if (!text) return zrt::pass(text);
  if (path.ends_with(".onnx")) return read_onnx(*text, feeds);
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

/// One real element as JSON; what is no number of JSON as a string.
Json real_json(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (dtype == DType::f64 || dtype == DType::cf64) return value;
  // The shortest form that reads back as the narrower type.
  char text[32];
  for (int digits = 1; digits <= 9; ++digits) {
    (void)std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtof(text, nullptr) == static_cast<float>(value)) break;
  }
  return std::strtod(text, nullptr);
}

/// Element `i` of a tensor.
Json element_json(const Array& array, std::uint64_t i) {
  const DType dtype = array.type.dtype;
  const auto read = [&]<class T>(DType as, T value) {
    // 4-bit elements lie in pairs, from an even one on.
    const std::uint64_t odd = i % zrt::info(dtype).block_elems;
    std::array<T, 2> both{};
    zrt::cast_elements(dtype, array.data.data() + zrt::bytes_of(dtype, i - odd), as,
                       reinterpret_cast<std::byte*>(both.data()), odd, 1);
    value = both[odd];
    return value;
  };
  switch (zrt::info(dtype).kind) {
    case zrt::DTypeKind::boolean:
      return array.data[i] != std::byte{0};
    case zrt::DTypeKind::signed_integer:
      return read(DType::si64, std::int64_t{});
    case zrt::DTypeKind::unsigned_integer:
      return read(DType::ui64, std::uint64_t{});
    case zrt::DTypeKind::complex: {
      double parts[2]{};
      float narrow[2]{};
      if (dtype == DType::cf64) {
        std::memcpy(parts, array.data.data() + i * sizeof parts, sizeof parts);
      } else {
        std::memcpy(narrow, array.data.data() + i * sizeof narrow, sizeof narrow);
        parts[0] = double{narrow[0]};
        parts[1] = double{narrow[1]};
      }
      return Json::array({real_json(parts[0], dtype), real_json(parts[1], dtype)});
    }
    default:
      return real_json(read(DType::f64, double{}), dtype);
  }
}

/// The elements in nested lists, from axis `axis` on.
Json elements_json(const Array& array, std::uint8_t axis, std::uint64_t& next) {
  if (axis == array.type.shape.rank) return element_json(array, next++);
  Json list = Json::array();
  for (std::uint32_t i = 0; i < array.type.shape[axis].extent; ++i)
    list.push_back(elements_json(array, static_cast<std::uint8_t>(axis + 1), next));
  return list;
}

/// A name as that of a file: what a path or a shell would read otherwise becomes _.
std::string file_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return out + ".npy";
}

/// The outputs' names; those that are the same get their place.
std::vector<std::string> output_names(const zrt::plan::ExecutionPlan& plan) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    std::string name(plan.outputs[i].name.view());
    for (const std::string& other : names)
      if (file_name(other) == file_name(name)) name += "." + std::to_string(i);
    names.push_back(std::move(name));
  }
  return names;
}

/// Writes the outputs as .npy files, or prints them.
int show(const PtirOptions& o, const zrt::plan::ExecutionPlan& plan, const std::vector<Array>& outputs) {
  const std::vector<std::string> names = output_names(plan);
  Json all = Json::array();
  std::string text;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string type = type_text(plan, outputs[i].type);
    Json one{{"name", names[i]}, {"dtype", std::string(name(outputs[i].type.dtype))}, {"shape", Json::array()}};
    for (std::uint8_t axis = 0; axis < outputs[i].type.shape.rank; ++axis)
      one["shape"].push_back(outputs[i].type.shape[axis].extent);
    text += names[i] + ": " + type;
    if (o.out.empty()) {
      std::uint64_t next = 0;
      one["values"] = elements_json(outputs[i], 0, next);
      text += " = " + one["values"].dump() + "\n";
    } else {
      const std::string path = (std::filesystem::path(o.out) / file_name(names[i])).string();
      std::ofstream file(path, std::ios::binary | std::ios::trunc);
      file << write_npy(outputs[i]) << std::flush;
      if (!file) return cannot_write(path);
      one["file"] = path;
      text += " in " + path + "\n";
    }
    all.push_back(std::move(one));
  }
  if (o.json) text = Json{{"outputs", std::move(all)}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return print(text) ? kOk : cannot_write("stdout");
}

}  // namespace

int ptir_run(const PtirOptions& o) {
  std::vector<std::string> feeds = o.feeds;
  const auto source = read_program(o.file, feeds);
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
    const auto code = c_source(*source, *shapes);
    if (!code) return failed(code.error());
    return print(code->view()) ? kOk : cannot_write("stdout");
  }
  const auto ready = ready_program(*source, *shapes, o.backend, o.threads);
  if (!ready) return failed(ready.error());
  TensorProgram& program = **ready;
  const zrt::plan::ExecutionPlan& plan = program.plan().plan;
  if (o.dump == "plan") {
    const Json json = plan_json(program.plan(), program.backend(), program.isa());
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
  std::vector<Array> outputs;
  for (const zrt::plan::PlanPort& port : plan.outputs) {
    const zrt::TensorType& type = plan.registers[index(port.reg)];
    outputs.push_back({type, std::vector<std::byte>(zrt::bytes_of(type.dtype, type.shape.elements({}).raw()))});
  }
  std::vector<zrt::TensorView> views;
  for (Array& array : outputs) views.push_back({array.type.dtype, array.type.shape, array.data});
  if (auto r = program.run(inputs, views); !r) return failed(r.error());
  return show(o, plan, outputs);
}

}  // namespace program
