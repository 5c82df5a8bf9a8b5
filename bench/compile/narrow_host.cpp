// SPDX-License-Identifier: Apache-2.0
// bench/compile/narrow_host.cpp: a whole program whose engine has one weight type on one kind of processor.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

using Narrow = zrt::BasicCpuBackend<zrt::cpu::WeightTypes<zrt::DType::q8_0>, zrt::cpu::Variants<zrt::cpu::Isa::v3>>;

int main(int, char** argv) {
  auto engine = zrt::Engine<Narrow>::open(argv[1]);
  if (!engine) return 1;
  std::size_t bytes = 0;
  const auto done = engine->generate({.prompt = "ROMEO:"}, [&](const zrt::Token& token) {
    bytes += token.text.size();
    return true;
  });
  return done && bytes != 0 ? 0 : 1;
}
