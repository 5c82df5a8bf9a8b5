// SPDX-License-Identifier: Apache-2.0
// examples/onnx_model.cpp: runs an ONNX file whose extents are all known; every input is filled with halves.
//
// usage: onnx_model FILE
#include <zrt/backend/cpu.hpp>
#include <zrt/exec/program_runner.hpp>
#include <zrt/ir/onnx.hpp>
#include <zrt/ir/onnx/targets.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

// The CPU, with the kernels of the ops that only ONNX has.
using Backend = zrt::BasicCpuBackend<zrt::cpu::AllWeightTypes, zrt::cpu::AllVariants, boost::mp11::mp_list<>,
                                     zrt::ir::onnx::Targets>;

namespace {

std::vector<std::byte> room(const zrt::TensorType& type) {
  return std::vector<std::byte>(zrt::bytes_of(type.dtype, type.shape.constant_elements().raw()));
}

int failed(const zrt::Error& error) {
  std::cerr << error.text() << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "model.onnx", std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto program = zrt::ir::onnx::read(std::as_bytes(std::span(bytes)));
  if (!program) return failed(program.error());
  // The file says the shape of every input; one that it leaves open is given in ReadOptions::types.
  std::vector<zrt::ir::ptir::Shape> shapes;
  for (const auto& parameter : program->regions[0].parameters) shapes.push_back(parameter.type.shape);
  auto runner = zrt::ProgramRunner<Backend>::make(*program, shapes);
  if (!runner) return failed(runner.error());

  std::vector<std::vector<std::byte>> memory;
  std::vector<zrt::ConstTensorView> inputs;
  std::vector<zrt::TensorView> outputs;
  for (std::size_t i = 0; i < runner->inputs(); ++i) {
    const zrt::TensorType& type = runner->input_type(i);
    std::vector<std::byte>& data = memory.emplace_back(room(type));
    const float half = 0.5f;
    if (type.dtype == zrt::DType::f32)
      for (std::size_t at = 0; at < data.size(); at += sizeof half) std::memcpy(&data[at], &half, sizeof half);
    inputs.push_back({type.dtype, type.shape, data});
  }
  for (std::size_t i = 0; i < runner->outputs(); ++i) {
    const zrt::TensorType& type = runner->output_type(i);
    outputs.push_back({type.dtype, type.shape, memory.emplace_back(room(type))});
  }
  if (auto done = runner->run(inputs, outputs); !done) return failed(done.error());
  for (std::size_t i = 0; i < runner->outputs(); ++i) {
    std::cout << runner->output_name(i) << ':';
    for (std::size_t at = 0;
         outputs[i].dtype == zrt::DType::f32 && at < std::min<std::size_t>(outputs[i].data.size(), 64); at += 4) {
      float value;
      std::memcpy(&value, &outputs[i].data[at], 4);
      std::cout << ' ' << value;
    }
    std::cout << '\n';
  }
  return 0;
}
