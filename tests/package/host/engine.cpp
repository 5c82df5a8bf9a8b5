// SPDX-License-Identifier: Apache-2.0
// tests/package/host/engine.cpp: a host of zrt::cpu: generates text with one family and one weight type; which headers a package has does not depend on more.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <string_view>

namespace {

struct OneFamily {
  using List = boost::mp11::mp_list<zrt::model::Llama>;
};
using Backend = zrt::BasicCpuBackend<zrt::cpu::WeightTypes<zrt::DType::q8_0>, zrt::cpu::Variants<zrt::cpu::Isa::v1>>;

}  // namespace

int main(int, char** argv) {
  auto engine = zrt::Engine<Backend, OneFamily>::open(std::string_view(argv[1]));
  if (!engine) return 1;
  std::size_t tokens = 0;
  zrt::Request request;
  request.prompt = "ROMEO:\n";
  request.max_tokens = 4;
  const auto done = engine->generate(request, [&](const zrt::Token&) { return ++tokens < 4; });
  return done && tokens == 4 ? 0 : 1;
}
