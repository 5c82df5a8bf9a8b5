// SPDX-License-Identifier: Apache-2.0
// tests/support/run_program.cpp: the runner of programs on ReferenceBackend.
#include <zrt/backend/reference.hpp>
#include <zrt/exec/program_runner.hpp>

#include <support/run_program.hpp>

namespace zrt::test {

ProgramRun run_program(const ir::ptir::Program& program, std::span<const HostValue> inputs, int times,
                       std::uint64_t trip_limit, bool optimise) {
  ProgramRun result;
  std::vector<ir::ptir::Shape> shapes;
  std::vector<ConstTensorView> in;
  for (const HostValue& value : inputs) {
    ir::ptir::Shape shape;
    for (std::uint8_t axis = 0; axis < value.type.shape.rank; ++axis) shape.append(value.type.shape[axis].extent);
    shapes.push_back(shape);
    in.push_back({value.type.dtype, value.type.shape, value.bytes});
  }
  ProgramOptions options;
  options.lower.trip_limit = trip_limit;
  options.optimise = optimise;
  auto runner = ProgramRunner<ReferenceBackend>::make(program, shapes, options);
  if (!runner) {
    result.refused = runner.error();
    return result;
  }
  const plan::ExecutionPlan& plan = runner->compiled().plan;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i)
    result.ops.emplace_back(kOpTable<ops::Catalog>[number(plan.instructions[i].opcode)] -> name);
  std::vector<TensorView> out;
  result.outputs.resize(runner->outputs());
  for (std::size_t i = 0; i < runner->outputs(); ++i) {
    HostValue& value = result.outputs[i];
    value.type = runner->output_type(i);
    value.bytes.resize(bytes_of(value.type.dtype, value.type.shape.elements({}).raw()), std::byte{0xa5});
    out.push_back({value.type.dtype, value.type.shape, value.bytes});
  }
  for (int i = 0; i < times; ++i)
    if (auto r = runner->run(in, out); !r) result.failed = r.error();
  return result;
}

}  // namespace zrt::test
