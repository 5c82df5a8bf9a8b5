// SPDX-License-Identifier: Apache-2.0
// examples/several_requests.cpp: three requests in two slots; each step runs all that are active.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <iostream>
#include <map>
#include <string>

int main(int argc, char** argv) {
  auto engine = zrt::Engine<zrt::CpuBackend>::open(argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf", {.slots = 2});
  if (!engine) {
    std::cerr << engine.error().text() << '\n';
    return 1;
  }
  std::map<zrt::RequestId, std::string> texts;
  for (const char* prompt : {"ROMEO:\n", "JULIET:\n", "NURSE:\n"}) {
    // Any thread may submit; what a request views is copied.
    const auto id = engine->submit({.prompt = prompt, .max_tokens = 40});
    if (!id) {
      std::cerr << id.error().text() << '\n';
      return 1;
    }
    texts[*id] = prompt;
  }
  const auto on_token = [&](zrt::RequestId id, const zrt::Token& token) {
    texts[id] += token.text;
    return true;
  };
  for (;;) {
    const auto left = engine->step(on_token);
    if (!left) {
      std::cerr << left.error().text() << '\n';
      return 1;
    }
    if (*left == 0) break;
  }
  for (const auto& [id, text] : texts)
    std::cout << "--- request " << static_cast<std::uint64_t>(id) << '\n' << text << '\n';
}
