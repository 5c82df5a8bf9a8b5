// SPDX-License-Identifier: Apache-2.0
// examples/own_threads.cpp: the engine's work on threads of the host's, and the engine's messages in its log.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint32_t kWorkers = 2;

/// Stands for a host's scheduler: here a thread is started for each worker but the first. It may run workers one after
/// the other, or leave late ones out; the bits stay the same.
void run_workers(void*, zrt::ThreadHook::Work work, void* argument) noexcept {
  std::vector<std::thread> others;
  for (std::uint32_t i = 1; i < kWorkers; ++i) others.emplace_back([=] { work(argument, i, kWorkers); });
  work(argument, 0, kWorkers);
  for (std::thread& thread : others) thread.join();  // returns when all calls have returned
}

/// Without a sink the library is silent.
void write_log(void* context, zrt::LogLevel level, std::string_view text) noexcept {
  ++*static_cast<int*>(context);
  std::cerr << (level == zrt::LogLevel::info ? "info: " : "warning: ") << text << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const char* const path = argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf";
  int messages = 0;
  std::string texts[2];
  for (std::string& text : texts) {
    zrt::EngineOptions options{.log = {&messages, &write_log}};
    if (&text == &texts[1]) options.thread_hook = {nullptr, &run_workers, kWorkers};
    auto engine = zrt::Engine<zrt::CpuBackend>::open(path, options);
    if (!engine) {
      std::cerr << engine.error().text() << '\n';
      return 1;
    }
    const auto add = [&](const zrt::Token& token) {
      text += token.text;
      return true;
    };
    if (auto done = engine->generate({.prompt = "LEAR:\n", .max_tokens = 30}, add); !done) return 1;
  }
  std::cout << texts[1] << '\n';
  return texts[0] == texts[1] && messages >= 2 ? 0 : 1;
}
