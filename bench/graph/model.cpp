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
#include <iterator>
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
  auto model = zrt::OnnxModel<zrt::TensorBackend>::open(argv[1], options);
  if (!model) return refuse_model(model.error().text());
  const double ready = bench::nanoseconds_since(start);

  std::ifstream file(argv[2], std::ios::binary);
  const std::vector<char> data{std::istreambuf_iterator<char>(file), {}};
  std::vector<zrt::ConstTensorView> inputs;
  std::size_t at = 0;
  for (std::size_t i = 0; i < model->inputs(); ++i) {
    const zrt::TensorType& type = model->input_type(i);
    const std::size_t bytes = zrt::bytes_of(type.dtype, type.shape.constant_elements().raw());
    if (data.size() - at < bytes) return refuse_model("DATA is shorter than the inputs");
    inputs.push_back({type.dtype, type.shape, std::as_bytes(std::span(data)).subspan(at, bytes)});
    at += bytes;
  }
  std::vector<std::vector<std::byte>> results;
  for (std::size_t i = 0; i < model->outputs(); ++i) {
    const zrt::TensorType& type = model->output_type(i);
    results.emplace_back(zrt::bytes_of(type.dtype, type.shape.constant_elements().raw()));
  }
  std::vector<zrt::TensorView> outputs;
  for (std::size_t i = 0; i < model->outputs(); ++i)
    outputs.push_back({model->output_type(i).dtype, model->output_type(i).shape, results[i]});
  std::cout << ready / 1e6 << std::endl;

  const std::string wrong = bench::obey_commands([&] { return model->run(inputs, outputs); }, results[0]);
  return wrong.empty() ? 0 : refuse_model(wrong);
}
