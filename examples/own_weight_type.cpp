// SPDX-License-Identifier: Apache-2.0
// examples/own_weight_type.cpp: an engine for models with weights of a type that the host adds.
//
// usage: own_weight_type MODEL TEXT: prints the log-probabilities of the most likely tokens after the text, with exact
// products and with rounded activations
#include "types/q8_1.hpp"  // first, in every source of the program
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <iostream>

/// zrt has no kernels for Q8_1, so its rows go through plain loops over the layout.
using Backend = zrt::BasicCpuBackend<zrt::cpu::WeightTypes<zrt::DType::q8_1>, zrt::cpu::Variants<zrt::cpu::Isa::v1>>;
struct Families {
  using List = boost::mp11::mp_list<zrt::model::Llama>;
};

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (const zrt::ActPolicy act : {zrt::ActPolicy::none, zrt::ActPolicy::weight}) {
    auto engine = zrt::Engine<Backend, Families>::open(argv[1], {.kv_type = zrt::DType::f32, .numerics = {.act = act}});
    if (!engine) {
      std::cerr << engine.error().text() << '\n';
      return 1;
    }
    const auto print = [](const zrt::Token& token) {
      for (const zrt::TokenProbability& best : token.best) std::cout << best.id << ' ' << best.log_probability << ' ';
      return static_cast<bool>(std::cout << '\n');
    };
    const auto done = engine->generate({.prompt = argv[2], .max_tokens = 1, .log_probabilities = 3}, print);
    if (!done) {
      std::cerr << done.error().text() << '\n';
      return 1;
    }
  }
  return 0;
}
