// SPDX-License-Identifier: Apache-2.0
// tests/package/host/engine.cpp: a host of zrt::cpu: generates text.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <string_view>

int main(int, char** argv) {
  auto engine = zrt::Engine<zrt::CpuBackend>::open(std::string_view(argv[1]));
  if (!engine) return 1;
  std::size_t tokens = 0;
  zrt::Request request;
  request.prompt = "ROMEO:\n";
  request.max_tokens = 4;
  const auto done = engine->generate(request, [&](const zrt::Token&) { return ++tokens < 4; });
  return done && tokens == 4 ? 0 : 1;
}
