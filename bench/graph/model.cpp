// SPDX-License-Identifier: Apache-2.0
// bench/graph/model.cpp: runs one ONNX file on the CPU as peers.py tells it to.
//
// zrt_bench_model FILE DATA THREADS; DATA holds the inputs one after the other. Commands on stdin, a line each,
// answered by a line: `run N` runs N times and gives the nanoseconds of each, `output FILE` writes the first result of
// the last run. The first line that it prints is how many milliseconds it took to make the model ready.
#include <zrt/compiled/programs.hpp>
#include <zrt/core/hooks.hpp>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using BenchClock = std::chrono::steady_clock;

int refuse_model(std::string_view text) {
  std::cerr << "zrt_bench_model: " << text << '\n';
  return 1;
}

double nanoseconds_since(BenchClock::time_point start) {
  return std::chrono::duration<double, std::nano>(BenchClock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return refuse_model("expected FILE DATA THREADS");
  const auto start = BenchClock::now();
  zrt::OnnxOptions options;
  options.threads = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  auto model = zrt::OnnxModel<zrt::TensorBackend>::open(argv[1], options);
  if (!model) return refuse_model(model.error().text());
  const double ready = nanoseconds_since(start);

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

  for (std::string command; std::cin >> command;) {
    if (command == "run") {
      int times = 0;
      std::cin >> times;
      std::vector<double> took;
      for (int i = 0; i < times; ++i) {
        const auto began = BenchClock::now();
        if (const auto done = model->run(inputs, outputs); !done) return refuse_model(done.error().text());
        took.push_back(nanoseconds_since(began));
      }
      for (const double each : took) std::cout << each << ' ';
      std::cout << std::endl;
    } else if (command == "output") {
      std::string path;
      std::cin >> path;
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(results[0].data()), static_cast<std::streamsize>(results[0].size()));
      std::cout << "written" << std::endl;
    } else {
      return refuse_model("unknown command: " + command);
    }
  }
  return 0;
}
