// SPDX-License-Identifier: Apache-2.0
// examples/stream_cancel.cpp: streams text until another thread has had enough.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <atomic>
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
  std::atomic<int> seen = 0;
  std::jthread impatient([&](const std::stop_token& over) {
    while (seen < 40 && !over.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop.request_stop();
  });
  const zrt::Request request{
      .prompt = "HAMLET:\n", .max_tokens = 200, .sampling = {.temperature = 0.8f, .seed = 1}, .ignore_eos = true};
  const auto print = [&seen](const zrt::Token& token) {
    std::cout << token.text << std::flush;
    ++seen;
    return static_cast<bool>(std::cout);  // false ends the request, too
  };
  // Takes effect within one step, while the prompt is read as well; it is a finish reason, not an error.
  const auto done = engine->generate(request, print, stop.get_token());
  if (!done) {
    std::cerr << done.error().text() << '\n';
    return 1;
  }
  std::cerr << "\nfinish: " << name(done->finish) << ", " << done->generated_tokens << " tokens\n";
  return 0;
}
