// SPDX-License-Identifier: Apache-2.0
// examples/zrt/ptir.cpp: runs a program of the portable tensor IR on tensors from files.
#include "commands.hpp"
#include "npy.hpp"
#include "npz.hpp"
#include "output.hpp"
#include "plan_json.hpp"
#include "program_file.hpp"
#include "tensor_output.hpp"
#include "tensor_program.hpp"
#include <zrt/ir/ptir/dot.hpp>

#include <nlohmann/json.hpp>

namespace program {
namespace {

namespace ptir = zrt::ir::ptir;
using Json = nlohmann::ordered_json;

}  // namespace

int ptir_run(const PtirOptions& o) {
  auto given = feeds_of_archives(o.feeds);
  if (!given) return failed(given.error());
  std::vector<std::string>& feeds = *given;
  const auto source = read_program(o.file, feeds, o.unrolled_trips);
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
                              std::string_view(input_name(source->regions[0].parameters[i])), " has no --feed")
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
