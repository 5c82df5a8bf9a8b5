// SPDX-License-Identifier: Apache-2.0
// examples/zrt/program_file.cpp: a tensor program and its inputs from files.
#include "npz.hpp"
#include "onnx_program.hpp"
#include "output.hpp"
#include "program_file.hpp"
#include <zrt/ir/ptir/json.hpp>
#include <zrt/ir/ptir/text.hpp>
#include <zrt/ir/ptir/verify.hpp>

namespace program {

namespace ptir = zrt::ir::ptir;

namespace {

/// The names of the inputs, parted by commas.
std::string input_names(const ptir::Program& source) {
  std::string names;
  for (const ptir::Parameter& input : source.regions[0].parameters)
    names += (names.empty() ? "" : ", ") + input_name(input);
  return names.empty() ? "none" : names;
}

/// What --feed calls an input: its name, or its id.
bool is_called(const ptir::Parameter& input, std::string_view name) {
  return name == input.name.view() || name == "%" + std::to_string(input.id);
}

}  // namespace

zrt::Result<ptir::Program> read_program(const std::string& path, std::vector<std::string>& feeds,
                                        std::optional<std::int64_t> unrolled_trips) {
  if (path.ends_with(".onnx")) {
    auto source = open_onnx(path);
    if (!source) return zrt::pass(source);
    auto program = read_onnx(*source, feeds, unrolled_trips);
    return program ? std::move(program) : std::unexpected(of_file(program.error(), path));
  }
  const auto text = read_file(path);
  if (!text) return zrt::pass(text);
  auto program = path.ends_with(".json") ? ptir::parse_json(*text) : ptir::parse(*text);
  if (!program) return std::unexpected(of_file(program.error(), path));
  if (auto r = ptir::verify(*program); !r) return std::unexpected(of_file(r.error(), path));
  return program;
}

std::string input_name(const ptir::Parameter& input) {
  return input.name.view().empty() ? "%" + std::to_string(input.id) : std::string(input.name.view());
}

zrt::Result<std::vector<std::optional<Array>>> read_feeds(const ptir::Program& source,
                                                          const std::vector<std::string>& feeds) {
  const auto& inputs = source.regions[0].parameters;
  std::vector<std::optional<Array>> arrays(inputs.size());
  for (const std::string& feed : feeds) {
    const std::size_t equals = feed.find('=');
    if (equals == std::string::npos)
      return zrt::fail(zrt::Errc::invalid_argument, "--feed ", std::string_view(feed),
                       ": expected NAME=FILE.npy or ARCHIVE.npz");
    const std::string name = feed.substr(0, equals);
    std::size_t input = 0;
    while (input < inputs.size() && !is_called(inputs[input], name)) ++input;
    if (input == inputs.size())
      return zrt::fail(zrt::Errc::not_found, "the program has no input ", std::string_view(name),
                       ", its inputs: ", std::string_view(input_names(source)));
    if (arrays[input]) return zrt::fail(zrt::Errc::duplicate_name, "input ", std::string_view(name), " is fed twice");
    const std::string path = feed.substr(equals + 1);
    const auto bytes = read_npy_file(path);
    if (!bytes) return zrt::pass(bytes);
    auto array = read_npy(*bytes, inputs[input].type.dtype);
    if (!array)
      return zrt::fail(array.error().code(), "input ", std::string_view(name), ": ", std::string_view(path), ": ",
                       array.error().text());
    arrays[input] = std::move(*array);
  }
  return arrays;
}

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
      return zrt::fail(zrt::Errc::invalid_argument, "input ", std::string_view(input_name(input)),
                       " has dynamic extents and no --feed");
    }
    shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace program
