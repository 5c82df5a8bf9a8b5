// SPDX-License-Identifier: Apache-2.0
// tests/package/host/compiled.cpp: a host of the compiled engines: two of them write the same tokens.
#include <zrt/compiled/cpu.hpp>
#include <zrt/compiled/pm4.hpp>
#include <zrt/compiled/reference.hpp>

#include <string>
#include <string_view>

static_assert(zrt::version() == PACKAGE_VERSION);

namespace {

template <class Engine> std::string text_of(zrt::Result<Engine> engine) {
  std::string text;
  if (!engine) return text;
  const auto done = engine->generate({.prompt = "ROMEO:\n", .max_tokens = 4}, [&](const zrt::Token& token) {
    text += token.text;
    return true;
  });
  return done && engine->tokenizer() != nullptr && engine->context() != 0 ? text : std::string();
}

}  // namespace

int main(int, char** argv) {
  const std::string_view model = argv[1];
  const std::string text = text_of(zrt::Engine<zrt::CpuBackend>::open(model));
  if (text.empty() || text != text_of(zrt::Engine<zrt::ReferenceBackend>::open(model))) return 1;
  return zrt::Engine<zrt::Pm4Backend>::open("no such file") ? 1 : 0;
}
