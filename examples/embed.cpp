// SPDX-License-Identifier: Apache-2.0
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <iostream>

int main(int argc, char** argv) {
  auto engine = zrt::Engine<zrt::CpuBackend>::open(argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf");
  if (!engine) {
    std::cerr << engine.error().text() << '\n';
    return 1;
  }
  auto print = [](const zrt::Token& token) { return static_cast<bool>(std::cout << token.text << std::flush); };
  auto done = engine->generate({.prompt = "ROMEO:\n", .max_tokens = 100}, print);
  return done ? 0 : 1;
}
