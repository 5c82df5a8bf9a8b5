// SPDX-License-Identifier: Apache-2.0
// examples/onnx_model.cpp: runs an ONNX file whose extents are all known; every input is filled with halves.
//
// usage: onnx_model FILE
#include <zrt/backend/cpu.hpp>
#include <zrt/programs.hpp>

#include <algorithm>
#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  auto model = zrt::OnnxModel<zrt::TensorBackend>::open(argc > 1 ? argv[1] : "model.onnx");
  if (!model) return std::cerr << model.error().text() << '\n', 1;
  std::vector<std::vector<float>> memory;
  const auto room = [&](const zrt::TensorType& type, float value) {
    const auto bytes = zrt::bytes_of(type.dtype, type.shape.constant_elements().raw());
    return std::as_writable_bytes(std::span(memory.emplace_back((bytes + 3) / 4, value))).first(bytes);
  };
  std::vector<zrt::ConstTensorView> inputs;
  for (std::size_t i = 0; i < model->inputs(); ++i) {
    const zrt::TensorType& type = model->input_type(i);
    inputs.push_back({type.dtype, type.shape, room(type, type.dtype == zrt::DType::f32 ? 0.5f : 0.0f)});
  }
  std::vector<zrt::TensorView> outputs;
  for (std::size_t i = 0; i < model->outputs(); ++i) {
    const zrt::TensorType& type = model->output_type(i);
    outputs.push_back({type.dtype, type.shape, room(type, 0)});
  }
  if (const auto done = model->run(inputs, outputs); !done) return std::cerr << done.error().text() << '\n', 1;
  for (std::size_t i = 0; i < model->outputs(); ++i) {
    std::cout << model->output_name(i) << ':';
    const std::vector<float>& values = memory[model->inputs() + i];
    for (std::size_t at = 0; outputs[i].dtype == zrt::DType::f32 && at < std::min<std::size_t>(values.size(), 16); ++at)
      std::cout << ' ' << values[at];
    std::cout << '\n';
  }
  return 0;
}
