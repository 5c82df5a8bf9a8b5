// SPDX-License-Identifier: Apache-2.0
// examples/observe.cpp: an engine with an observer of times; prints where the time of a generation went.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/trace/profile.hpp>
#include <zrt/trace/timeline.hpp>
#include <zrt/zrt.hpp>

#include <iostream>

int main(int argc, char** argv) {
  zrt::trace::Timeline timeline;  // outlives the engine
  using Engine = zrt::Engine<zrt::CpuBackend, zrt::AllFamilies, zrt::trace::TimelineObserver>;
  const char* const path = argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf";
  auto engine = Engine::open(path, {}, {}, {&timeline});
  if (!engine) {
    std::cerr << engine.error().text() << '\n';
    return 1;
  }
  auto done = engine->generate({.prompt = "ROMEO:\n", .max_tokens = 100}, [](const zrt::Token&) { return true; });
  auto profile = zrt::trace::Profile::of(timeline, zrt::system_allocator());
  if (!done || !profile) {
    std::cerr << (done ? profile.error().text() : done.error().text()) << '\n';
    return 1;
  }
  std::cout << profile->steps << " steps\n";
  for (const zrt::trace::OpTime& op : profile->ops)
    std::cout << op.busy * 100 / profile->busy() << " % "
              << zrt::kOpTable<zrt::ops::Catalog>[zrt::number(op.opcode)] -> name << '\n';
  return 0;
}
