// SPDX-License-Identifier: Apache-2.0
// examples/stream_cancel.cpp: streams text until another thread has had enough.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <thread>

int main(int argc, char** argv) {
  auto engine = zrt::Engine<zrt::CpuBackend>::open(argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf");
  if (!engine) {
    std::cerr << engine.error().text() << '\n';
    return 1;
  }
  std::stop_source stop;
  std::jthread impatient([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  const zrt::Request request{
      .prompt = "HAMLET:\n", .max_tokens = 200, .sampling = {.temperature = 0.8f, .seed = 1}, .ignore_eos = true};
  const auto print = [](const zrt::Token& token) {
    std::cout << token.text << std::flush;
    return static_cast<bool>(std::cout);  // false ends the request, too
  };
  // Takes effect within one step, while the prompt is read as well; it is a finish reason, not an error.
  const auto done = engine->generate(request, print, stop.get_token());
  if (!done) {
    std::cerr << done.error().text() << '\n';
    return 1;
  }
  std::cerr << "\nfinish: " << name(done->finish) << ", " << done->generated_tokens << " tokens\n";
  return 0;  // a fast machine reaches max_tokens first
}
