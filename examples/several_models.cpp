// SPDX-License-Identifier: Apache-2.0
// examples/several_models.cpp: two models in memory for one: each makes room when the other is asked.
#include <zrt/backend/cpu.hpp>
#include <zrt/engine/model_set.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>

namespace {

int fail(const zrt::Error& error) {
  std::cerr << error.text() << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using Engine = zrt::Engine<zrt::CpuBackend>;
  const char* path = argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf";
  auto bard = Engine::open(path, {.slots = 2}), other = Engine::open(argc > 2 ? argv[2] : path, {.slots = 2});
  if (!bard) return fail(bard.error());
  if (!other) return fail(other.error());

  const std::uint64_t room = std::max(bard->memory().total(), other->memory().total());
  auto models = zrt::ModelSet<Engine>::make({.memory = room});
  if (!models) return fail(models.error());
  std::map<zrt::ModelId, std::string> texts;
  for (Engine* engine : {&*bard, &*other}) {
    const auto model = models->add(*engine);  // the engine outlives the set
    if (!model) return fail(model.error());
    // From any thread: the model comes back to memory for it.
    const auto id = models->submit(*model, {.prompt = "ROMEO:\n", .max_tokens = 40});
    if (!id) return fail(id.error());
  }
  for (std::size_t left = 1; left != 0;) {
    const auto done = models->step([&](zrt::ModelId model, zrt::RequestId, const zrt::Token& token) {
      texts[model] += token.text;
      return true;
    });
    if (!done) return fail(done.error());
    left = *done;
  }
  for (const auto& [model, text] : texts) {
    const auto report = models->report(model);
    if (!report) return fail(report.error());
    std::cout << text << "\n--- " << report->steps << " steps, " << report->evictions << " times evicted, "
              << report->memory.total() << " of " << report->needs << " bytes in memory\n";
  }
}
