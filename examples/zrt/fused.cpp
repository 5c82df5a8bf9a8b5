// SPDX-License-Identifier: Apache-2.0
// examples/zrt/fused.cpp: runs a fused program on tensors from files, in evaluation or in training.
#include "commands.hpp"
#include "npy.hpp"
#include "npz.hpp"
#include "output.hpp"
#include "tensor_output.hpp"
#include "tensor_program.hpp"
#include <zrt/exec/fused_steps.hpp>
#include <zrt/ir/fused/json.hpp>
#include <zrt/ir/fused/output_name.hpp>
#include <zrt/plan/fused_origins.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iostream>
#include <optional>

namespace program {
namespace {

namespace fused = zrt::ir::fused;
namespace ptir = zrt::ir::ptir;
using zrt::DType;

/// The ids of the feeds, parted by commas.
std::string feed_names(const fused::FusedProgram& program) {
  std::string names;
  for (const auto id : program.feeds) names += (names.empty() ? "" : ", ") + std::to_string(id);
  return names.empty() ? "none" : names;
}

/// The tensors in the order of the program's feeds; a feed without one has none.
zrt::Result<std::vector<std::optional<Array>>> read_feeds(const fused::FusedProgram& program,
                                                          const std::vector<std::string>& feeds) {
  std::vector<std::optional<Array>> found(program.feeds.size());
  for (const std::string& feed : feeds) {
    const std::size_t equals = std::min(feed.find('='), feed.size());
    std::string_view name = std::string_view(feed).substr(0, equals);
    if (name.starts_with('%')) name.remove_prefix(1);
    fused::ValueId id = 0;
    if (equals == feed.size() || std::from_chars(name.data(), name.data() + name.size(), id).ptr != &feed[equals])
      return zrt::fail(zrt::Errc::invalid_argument, "--feed ", std::string_view(feed), ": expected id=file.npy");
    std::size_t place = 0;
    while (place < program.feeds.size() && program.feeds[place] != id) ++place;
    if (place == program.feeds.size())
      return zrt::fail(zrt::Errc::not_found, "the program has no feed ", id,
                       ", its feeds: ", std::string_view(feed_names(program)));
    if (found[place]) return zrt::fail(zrt::Errc::duplicate_name, "feed ", id, " is given twice");
    const auto bytes = read_npy_file(feed.substr(equals + 1));
    if (!bytes) return zrt::pass(bytes);
    const fused::Meta* const meta = program.meta_of(id);
    auto array = meta != nullptr ? read_npy(*bytes, meta->type.dtype) : read_any_npy(*bytes);
    if (!array) return zrt::fail(array.error().code(), "feed ", id, ": ", array.error().text());
    found[place] = std::move(*array);
  }
  return found;
}

/// The names of what leaves, in its order.
std::vector<std::string> output_names(const fused::FusedProgram& program) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < program.outputs.size() + program.state_out.size(); ++i)
    names.emplace_back(fused::output_name(program, i).view());
  return names;
}

/// The error, and on stderr what is around the break.
int broken(const fused::FusedProgram& program, const fused::CutWire& cut, const zrt::Error& error) {
  zrt::String report;
  if (fused::append_report(report, program, cut, error)) std::cerr << report.view();
  return failed(error);
}

}  // namespace

int fused_run(const FusedOptions& o) {
  const auto text = read_file(o.file);
  if (!text) return failed(text.error());
  fused::BrokenProgram read;
  const auto source = fused::parse_json(*text, zrt::system_allocator(), &read);
  read.cut.backend = zrt::Name(o.backend);
  if (!source && read.cut.step != fused::CutWire::kNone) return broken(read.program, read.cut, read.cause);
  if (!source) return failed(of_file(source.error(), o.file));
  fused::CutWire cut;
  const auto feeds = feeds_of_archives(o.feeds);
  if (!feeds) return failed(feeds.error());
  auto given = read_feeds(*source, *feeds);
  if (!given) return failed(given.error());
  std::vector<Array> arrays;
  std::vector<fused::FeedType> types;
  for (std::size_t i = 0; i < given->size(); ++i) {
    if (!(*given)[i]) continue;
    arrays.push_back(std::move(*(*given)[i]));
    const zrt::TensorType& from = arrays.back().type;
    ptir::TensorType type{from.dtype, {}};
    for (std::uint8_t axis = 0; axis < from.shape.rank; ++axis) type.shape.append(from.shape[axis].extent);
    types.push_back({source->feeds[i], type});
  }
  if (o.dump == "c") {
    const auto code = c_source(*source, types, cut);
    if (!code) return broken(*source, cut, code.error());
    return print(code->view()) ? kOk : cannot_write("stdout");
  }
  zrt::plan::FusedOrigins origins;
  const auto in_mode = fused::instantiate(*source, types, o.training, &cut, &origins.first_values);
  cut.backend = zrt::Name(o.backend);
  if (!in_mode) return broken(*source, cut, in_mode.error());
  // A program that draws takes the run's seed after the feeds.
  if (in_mode->regions[0].parameters.size() > arrays.size()) {
    arrays.push_back({{DType::si64, {}}, std::vector<std::byte>(sizeof o.seed)});
    std::memcpy(arrays.back().data.data(), &o.seed, sizeof o.seed);
  }
  std::vector<ptir::Shape> shapes;
  for (const ptir::Parameter& parameter : in_mode->regions[0].parameters) shapes.push_back(parameter.type.shape);
  const auto ready = ready_program(*in_mode, shapes, {o.backend, o.threads, "program", o.fit, &origins.program});
  if (!ready) {
    const zrt::Error error = zrt::plan::at_step(*source, *in_mode, origins, ready.error(), cut);
    return broken(*source, cut, error);
  }
  const zrt::plan::ExecutionPlan& plan = (*ready)->plan().plan;
  std::vector<zrt::ConstTensorView> inputs;
  for (const Array& array : arrays) inputs.push_back({array.type.dtype, array.type.shape, array.data});
  std::vector<Array> outputs = room_for_outputs(plan);
  std::vector<zrt::TensorView> views;
  for (Array& array : outputs) views.push_back({array.type.dtype, array.type.shape, array.data});
  if (auto r = (*ready)->run(inputs, views); !r) {
    if (auto found = origins.follow(*in_mode); !found) return failed(found.error());
    const zrt::Error error = zrt::exec::at_step(origins.steps.span(), r.error(), cut);
    return broken(*source, cut, error);
  }
  return show_tensors(output_names(*source), plan, outputs, o.out, o.json);
}

}  // namespace program
