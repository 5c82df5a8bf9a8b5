// SPDX-License-Identifier: Apache-2.0
// bench/compile/compiled_cpu.cpp: what a program pays that calls engines of zrt::cpu_compiled.
#include <zrt/compiled/cpu.hpp>

int main(int, char** argv) {
  auto engine = zrt::Engine<zrt::CpuBackend>::open(argv[1]);
  if (!engine) return 1;
  std::size_t bytes = 0;
  const auto done = engine->generate({.prompt = "ROMEO:"}, [&](const zrt::Token& token) {
    bytes += token.text.size();
    return true;
  });
  return done && bytes != 0 ? 0 : 1;
}
