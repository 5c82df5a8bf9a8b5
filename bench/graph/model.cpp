// SPDX-License-Identifier: Apache-2.0
// bench/graph/model.cpp: runs one ONNX file on the CPU as models.py tells it to.
//
// zrt_bench_model FILE DATA THREADS; DATA holds the inputs one after the other. The first line that it prints is how
// many milliseconds it took to make the model ready; then it obeys commands (commands.hpp), the result being the first.
#include "commands.hpp"
#include <zrt/compiled/programs.hpp>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

int refuse_model(std::string_view text) {
  std::cerr << "zrt_bench_model: " << text << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return refuse_model("expected FILE DATA THREADS");
  const auto start = bench::Clock::now();
  zrt::OnnxOptions options;
  options.threads = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  options.keep_inputs = true;
  auto model = zrt::OnnxModel<zrt::TensorBackend>::open(argv[1], options);
  if (!model) return refuse_model(model.error().text());
  const double ready = bench::nanoseconds_since(start);

  // Inputs and outputs lie in the model's own memory, as PyTorch's lie in its own.
  std::ifstream file(argv[2], std::ios::binary);
  std::vector<zrt::ConstTensorView> inputs;
  for (std::size_t i = 0; i < model->inputs(); ++i) {
    const zrt::Span<std::byte> memory = model->input_memory(i);
    if (!file.read(reinterpret_cast<char*>(memory.data()), static_cast<std::streamsize>(memory.size())))
      return refuse_model("DATA is shorter than the inputs");
    inputs.push_back({model->input_type(i).dtype, model->input_type(i).shape, memory});
  }
  std::vector<zrt::TensorView> outputs;
  for (std::size_t i = 0; i < model->outputs(); ++i)
    outputs.push_back({model->output_type(i).dtype, model->output_type(i).shape, model->output_memory(i)});
  std::cout << ready / 1e6 << std::endl;

  const std::string wrong = bench::obey_commands([&] { return model->run(inputs, outputs); }, outputs[0].data);
  return wrong.empty() ? 0 : refuse_model(wrong);
}
