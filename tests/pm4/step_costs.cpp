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

/// Bytes of the card's memory that an engine holds, by heap, and of its kernels.
test::StepTable card_memory(Observed& engine) {
  test::StepTable heaps = test::StepTable::object();
  std::uint64_t kernels = 0;
  engine.executor().for_each_memory([&](std::string_view what, const auto& memory) {
    const std::string heap(name(memory.heap()));
    heaps[heap] = heaps.value(heap, std::uint64_t{0}) + memory.bytes();
    if (what == "kernels") kernels += memory.bytes();
  });
  return {{"heaps", std::move(heaps)}, {"kernels", kernels}};
}

/// Of these, what is video memory.
std::uint64_t video_bytes(const test::StepTable& memory) {
  std::uint64_t sum = 0;
  for (const auto& [heap, bytes] : memory["heaps"].items())
    if (heap != name(pm4::Heap::host_visible)) sum += bytes.get<std::uint64_t>();
  return sum;
}

/// Beside what the plan says, what the card did for one token: waves' instructions, bytes that its memory moved, and
/// doorbells.
template <class Source> void check(const std::string& row, const Source& source) {
  SCOPED_TRACE(row);
  engines::ModelledCard card({.target = pm4::find_target("gfx1201"), .kernel = emulator::kLinux6_16});
  const std::uint64_t free_before = card.model().available_video();
  trace::Timeline timeline({.bytes = 1 << 20});
  auto engine = Observed::open(source, {.context = 64, .chunk = 16}, {.os = &card.os(), .kernels = engines::kernels()},
                               {&timeline});
  // A family with ops that the card lacks has no row.
  if (!engine && engine.error().code() == Errc::unsupported_opcode) {
    EXPECT_FALSE(test::step_table("pm4-gfx1201").contains(row)) << engine.error().text();
    return;
  }
  ASSERT_TRUE(engine) << engine.error().text() << " / " << card.model().refusal();
  const test::StepTable memory = card_memory(*engine);
  EXPECT_EQ(video_bytes(memory), free_before - card.model().available_video())
      << "every byte of video memory has an owner";
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
  found["memory"].update(memory);
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
