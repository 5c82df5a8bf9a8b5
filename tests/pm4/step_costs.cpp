// SPDX-License-Identifier: Apache-2.0
// tests/pm4/step_costs.cpp: launches, bytes, instructions and memory of a step of every family on a modelled card, against a checked-in table.
#include <gtest/gtest.h>

#include <filesystem>
#include <pm4/engine_card.hpp>
#include <string>
#include <support/engine_of.hpp>
#include <support/step_costs.hpp>

namespace pm4_step_costs_test {
namespace {

using namespace zrt;
using Observed = Engine<emulator::Pm4Backend, AllFamilies, trace::TimelineObserver>;

/// Beside what the plan says, what the card did for one token: waves' instructions, bytes that its memory moved, and
/// doorbells.
template <class Source> void check(const std::string& row, const Source& source) {
  SCOPED_TRACE(row);
  engines::ModelledCard card({.target = pm4::find_target("gfx1201"), .kernel = emulator::kLinux6_16});
  trace::Timeline timeline({.bytes = 1 << 20});
  auto engine = Observed::open(source, {.context = 64, .chunk = 16}, {.os = &card.os(), .kernels = engines::kernels()},
                               {&timeline});
  ASSERT_TRUE(engine) << engine.error().text() << " / " << card.model().refusal();
  test::EngineOf<emulator::Pm4Backend, trace::TimelineObserver> any(std::move(*engine));
  test::StepTable found = test::measure_costs(any, timeline, [&] { card.forget(); });
  std::uint64_t instructions = 0;
  std::uint64_t bytes = 0;
  for (const engines::GridWork& grid : card.grids()) {
    instructions += grid.wave_instructions;
    bytes += grid.bytes;
  }
  found["decode"]["grids"] = card.grids().size();
  found["decode"]["wave_instructions"] = instructions;
  found["decode"]["memory_bytes"] = bytes;
  found["decode"]["doorbells"] = card.model().queues().doorbells_rung() - card.doorbells_before();
  test::expect_costs("pm4-gfx1201", row, found);
}

TEST(Pm4StepCosts, TinyModelsOfEveryFamily) {
  for (const test::TinySpec& spec : test::kTinyFamilies) {
    const test::ModelFile file = test::tiny_model(spec);
    check("tiny/" + std::string(spec.name), file.bytes());
  }
}

TEST(Pm4StepCosts, GoldenFamilies) {
  const std::filesystem::path golden = std::filesystem::path(ZRT_SHARED_DIR) / "golden" / "arch";
  if (!std::filesystem::exists(golden)) GTEST_SKIP() << "NOT RUN: there is no golden data at " << golden;
  for (const std::string_view name : test::kGoldenModels)
    check("golden/" + std::string(name), std::string_view((golden / (std::string(name) + ".gguf")).string()));
}

TEST(Pm4StepCosts, Bard) { check("bard", std::string_view(ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf")); }

}  // namespace
}  // namespace pm4_step_costs_test
