// SPDX-License-Identifier: Apache-2.0
// bench/graph/graph.cpp: runs one tensor program on the CPU as measure.py tells it to.
//
// zrt_bench_graph DATA BATCH TOKENS DIM THREADS; DATA holds the weights, then the input, as f32. The first
// line that it prints describes the plan; then it obeys commands (commands.hpp).
#include "commands.hpp"
#include "rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <programs.hpp>
#include <string>
#include <vector>

namespace {

using namespace zrt;

int refuse(std::string_view text) {
  std::cerr << "zrt_bench_graph: " << text << '\n';
  return 1;
}

std::vector<float> read_floats(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<float> values(file ? static_cast<std::size_t>(file.tellg()) / sizeof(float) : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

/// Nanoseconds per instruction of replaying as many calls that do nothing, each fenced.
double replay_overhead(std::size_t instructions, const ThreadHook& threads) {
  struct EmptyCall {
    std::byte operands[128];
  };
  exec::HostProgram program;
  for (std::size_t i = 0; i < instructions; ++i) {
    const exec::HostKernel<EmptyCall> nothing = [](const EmptyCall&, const ExecutionContext&, const Worker&) noexcept {
    };
    if (!program.push(nothing, EmptyCall{}, static_cast<std::uint32_t>(i), {}, true)) return 0.0;
  }
  double best = 1e30;
  for (int repeat = 0; repeat < 200; ++repeat) {
    const auto start = bench::Clock::now();
    (void)program.launch(ExecutionContext{}, threads, {});
    best = std::min(best, bench::nanoseconds_since(start));
  }
  return best / static_cast<double>(instructions);
}

void describe(const ProgramRunner<engines::CpuPrograms>& runner, const ThreadHook& threads) {
  const plan::ExecutionPlan& plan = runner.compiled().plan;
  std::cout << "{\"arena_bytes\": " << runner.mapping().arena_bytes
            << ", \"overhead_ns\": " << replay_overhead(plan.instructions.size(), threads) << ", \"ops\": [";
  for (std::size_t i = 0; i < plan.instructions.size(); ++i)
    std::cout << (i == 0 ? "\"" : ", \"") << kOpTable<ops::Catalog>[number(plan.instructions[i].opcode)] -> name << '"';
  std::cout << "]}" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return refuse("expected DATA BATCH TOKENS DIM THREADS");
  const auto number_at = [&](int i) { return static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10)); };
  const bench::Row row{number_at(2), number_at(3), number_at(4)};
  const std::vector<float> data = read_floats(argv[1]);
  if (data.size() < row.input_elements()) return refuse("DATA is shorter than the input");
  const auto weights = std::span(data).first(data.size() - row.input_elements());
  const auto program = bench::program_of(row, weights);
  if (!program) return refuse(program.error().text());

  exec::ThreadPool pool(system_allocator());
  ProgramOptions options;
  if (const std::uint32_t threads = number_at(5); threads != 1) {
    if (const auto started = pool.start(threads); !started) return refuse(started.error().text());
    options.thread_hook = pool.hook();
  }
  const ir::ptir::Shape shapes[]{program->regions[0].parameters[0].type.shape};
  auto runner = ProgramRunner<engines::CpuPrograms>::make(*program, shapes, options);
  if (!runner) return refuse(runner.error().text());
  describe(*runner, options.thread_hook);

  const ConstTensorView inputs[]{
      {DType::f32, runner->input_type(0).shape, std::as_bytes(std::span(data).last(row.input_elements()))}};
  std::vector<float> result(runner->output_type(0).shape.elements({}).raw());
  const TensorView outputs[]{{DType::f32, runner->output_type(0).shape, std::as_writable_bytes(std::span(result))}};
  const std::string wrong =
      bench::obey_commands([&] { return runner->run(inputs, outputs); }, std::as_bytes(std::span(result)));
  return wrong.empty() ? 0 : refuse(wrong);
}
