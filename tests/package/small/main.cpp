// SPDX-License-Identifier: Apache-2.0
// tests/package/small/main.cpp: a small program: one model family and one weight type, on every instruction set.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <cstdio>

namespace {

struct OneFamily {
  using List = boost::mp11::mp_list<zrt::model::Llama>;
};
using Backend = zrt::BasicCpuBackend<zrt::cpu::WeightTypes<zrt::DType::q8_0>>;

}  // namespace

int main(int, char** argv) {
  auto engine = zrt::Engine<Backend, OneFamily>::open(argv[1]);
  if (!engine) return std::fputs("the model does not open\n", stderr) < 0 ? 2 : 1;
  auto print = [](const zrt::Token& token) {
    return std::fwrite(token.text.data(), 1, token.text.size(), stdout) == token.text.size();
  };
  return engine->generate({.prompt = "ROMEO:\n", .max_tokens = 8}, print) ? 0 : 1;
}
