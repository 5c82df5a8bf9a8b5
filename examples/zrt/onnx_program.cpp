// SPDX-License-Identifier: Apache-2.0
// examples/zrt/onnx_program.cpp: reads ONNX files for the tensors that they are fed.
#include "npy.hpp"
#include "onnx_program.hpp"
#include "output.hpp"
#include <zrt/ir/onnx.hpp>

#include <algorithm>

namespace program {
namespace {

namespace onnx = zrt::ir::onnx;
namespace ptir = zrt::ir::ptir;

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
    return zrt::fail(zrt::Errc::invalid_argument, "--feed ", std::string_view(feed), ": expected name=file.npy");
  Fed fed{feed, feed.substr(0, equals), {}};
  for (const onnx::ValueView& input : graph.inputs) {
    if (input.name != fed.name) continue;
    const auto declared = onnx::read_type(input.type, [](std::string_view, std::uint8_t) { return ptir::Dim::any(); });
    if (!declared) return zrt::pass(declared);
    const auto bytes = read_file(feed.substr(equals + 1));
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
  return zrt::fail(zrt::Errc::not_found, "the program has no input ", std::string_view(fed.name));
}

}  // namespace

zrt::Result<ptir::Program> read_onnx(const std::string& bytes, std::vector<std::string>& feeds,
                                     std::optional<std::int64_t> unrolled_trips) {
  const auto model = onnx::read_model(bytes);
  if (!model) return zrt::pass(model);
  const auto graph = onnx::read_graph(model->graph, zrt::system_allocator());
  if (!graph) return zrt::pass(graph);
  std::vector<Fed> all;
  for (const std::string& feed : feeds) {
    auto fed = read_fed(*graph, feed);
    if (!fed) return zrt::pass(fed);
    all.push_back(std::move(*fed));
  }
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
    auto program = onnx::read(std::as_bytes(std::span(bytes)), options);
    if (!program) {
      if (!open.view().empty())
        return zrt::fail(program.error().code(), "input ", open.view(),
                         " has dynamic extents and no --feed: ", program.error().text());
      const auto fed =
          std::find_if(all.begin(), all.end(), [&](const Fed& f) { return !f.bound && f.name == needed.view(); });
      if (needed.view().empty() || fed == all.end()) return program;
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
