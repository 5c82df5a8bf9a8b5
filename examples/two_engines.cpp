// SPDX-License-Identifier: Apache-2.0
// examples/two_engines.cpp: engines of two backends in one process, on a thread each.
#include <zrt/backend/cpu.hpp>
#include <zrt/backend/reference.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <iostream>
#include <string>
#include <thread>

namespace {

template <class B> std::string continue_text(const char* path) {
  auto engine = zrt::Engine<B>::open(path);
  if (!engine) return std::string(engine.error().text());
  std::string text;
  const auto done = engine->generate({.prompt = "KING HENRY:\n", .max_tokens = 24}, [&](const zrt::Token& token) {
    text += token.text;
    return true;
  });
  return done ? text : std::string(done.error().text());
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf";
  std::string plain;
  std::thread other([&] { plain = continue_text<zrt::ReferenceBackend>(path); });
  const std::string fast = continue_text<zrt::CpuBackend>(path);
  other.join();
  std::cout << fast << '\n';
  // The CPU's kernels give the bits of the oracle, so the texts cannot differ.
  if (fast == plain) return 0;
  std::cerr << "the backends disagree; the reference says:\n" << plain << '\n';
  return 1;
}
