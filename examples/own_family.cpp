// SPDX-License-Identifier: Apache-2.0
// examples/own_family.cpp: an engine that runs two families of the host's own beside one of zrt's.
//
// usage: own_family MODEL [TEXT]: prints the ids of the text, then the next tokens with their log-probabilities
#include "families/minicpm.hpp"
#include "families/olmo.hpp"
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <iostream>

/// What the engine can run. Nothing is registered: the list is a template argument of the engine.
struct Families {
  using List = boost::mp11::mp_list<host::Olmo, host::MiniCpm, zrt::model::Llama>;
  using PreTokenizers = zrt::text::PreTokenizerList<host::HouseWords>;  // beside zrt's
};

int main(int argc, char** argv) {
  using Engine = zrt::Engine<zrt::CpuBackend, Families>;
  const char* const path = argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf";
  auto engine = Engine::open(path, {.kv_type = zrt::DType::f32});
  if (!engine) {
    std::cerr << engine.error().text() << '\n';
    return 1;
  }
  const auto ids = engine->tokenizer()->encode(argc > 2 ? argv[2] : "ROMEO:\n", {.add_special = true});
  if (!ids) return 1;
  std::cout << "prompt";
  for (const std::int32_t id : *ids) std::cout << ' ' << id;
  std::cout << '\n';
  const auto print = [](const zrt::Token& token) {
    for (const zrt::TokenProbability& best : token.best) std::cout << best.id << ' ' << best.log_probability << ' ';
    return static_cast<bool>(std::cout << '\n');
  };
  const auto done =
      engine->generate({.tokens = ids->span(), .max_tokens = 6, .ignore_eos = true, .log_probabilities = 3}, print);
  if (!done) {
    std::cerr << done.error().text() << '\n';
    return 1;
  }
  return 0;
}
