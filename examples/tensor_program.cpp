// SPDX-License-Identifier: Apache-2.0
// examples/tensor_program.cpp: builds a tensor program, runs it, and writes it as C.
#include <zrt/backend/reference.hpp>
#include <zrt/exec/program_runner.hpp>
#include <zrt/ir/onnx/targets.hpp>
#include <zrt/ir/ptir/builder.hpp>
#include <zrt/plan/c/convert.hpp>

#include <array>
#include <iostream>

using Backend = zrt::BasicReferenceBackend<zrt::ops::Catalog, zrt::ir::onnx::Targets>;

namespace {

int failed(const zrt::Error& error) {
  std::cerr << error.text() << '\n';
  return 1;
}

}  // namespace

int main() {
  // max(x w / 2, 0), with as many rows as the input has.
  zrt::ir::ptir::Builder b;
  const auto x = b.parameter({zrt::DType::f32, {b.dim("N"), 4}}, "x");
  const auto w = b.parameter({zrt::DType::f32, {4, 3}}, "w");
  const auto y = b.dot(x, w) * 0.5;
  b.result(b.maximum(y, b.constant(0.0f)));
  zrt::Result<zrt::ir::ptir::Program> program = b.finish();
  if (!program) return failed(program.error());

  // A runner is made for one set of shapes; then each run allocates nothing.
  const zrt::ir::ptir::Shape shapes[]{{2, 4}, {4, 3}};
  auto runner = zrt::ProgramRunner<Backend>::make(*program, shapes);
  if (!runner) return failed(runner.error());
  const std::array<float, 8> rows{1, 2, 3, 4, -1, -2, -3, -4};
  const std::array<float, 12> weights{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1};
  std::array<float, 6> result{};
  const zrt::ConstTensorView inputs[]{{zrt::DType::f32, {2, 4}, std::as_bytes(std::span(rows))},
                                      {zrt::DType::f32, {4, 3}, std::as_bytes(std::span(weights))}};
  const zrt::TensorView outputs[]{{zrt::DType::f32, {2, 3}, std::as_writable_bytes(std::span(result))}};
  if (auto done = runner->run(inputs, outputs); !done) return failed(done.error());
  for (const float value : result) std::cout << value << ' ';

  // The same as one C99 function that needs libm alone.
  zrt::Result<zrt::String> code = zrt::plan::c::to_c(*program, shapes, {.name = "layer"});
  if (!code) return failed(code.error());
  std::cout << "\n\n" << code->view();
  return result == std::array<float, 6>{0.5f, 1.0f, 3.5f, 0, 0, 0} ? 0 : 1;
}
