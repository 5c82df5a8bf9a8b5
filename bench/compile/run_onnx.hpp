// SPDX-License-Identifier: Apache-2.0
// bench/compile/run_onnx.hpp: what a small program does with an ONNX file, on whatever backend.
#pragma once

#include <zrt/exec/onnx_model.hpp>

#include <cstdio>
#include <vector>

/// Runs the file once on zeros; the exit status.
template <class Model> int run_onnx(const char* path) {
  auto model = Model::open(path);
  if (!model)
    return std::printf("%.*s\n", static_cast<int>(model.error().text().size()), model.error().text().data()), 1;
  std::vector<std::vector<std::byte>> memory;
  const auto room = [&](const zrt::TensorType& type) {
    return std::span(memory.emplace_back(zrt::bytes_of(type.dtype, type.shape.constant_elements().raw())));
  };
  std::vector<zrt::ConstTensorView> inputs;
  for (std::size_t i = 0; i < model->inputs(); ++i)
    inputs.push_back({model->input_type(i).dtype, model->input_type(i).shape, room(model->input_type(i))});
  std::vector<zrt::TensorView> outputs;
  for (std::size_t i = 0; i < model->outputs(); ++i)
    outputs.push_back({model->output_type(i).dtype, model->output_type(i).shape, room(model->output_type(i))});
  return model->run(inputs, outputs) ? 0 : 1;
}
