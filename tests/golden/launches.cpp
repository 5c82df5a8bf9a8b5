// SPDX-License-Identifier: Apache-2.0
// tests/golden/launches.cpp: kernels, bytes and memory of a step of every family on the host's backends, against checked-in tables.
#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <support/engines.hpp>
#include <support/step_costs.hpp>
#include <vector>

namespace launches_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

/// Kernels that a step launches, as the programs of both sizes were recorded.
struct PerStep {
  std::uint64_t prefill = 0;
  std::uint64_t decode = 0;
};

/// Launches of a step that holds prompts, and of one that does not, with all slots busy.
PerStep measure(HostEngine& engine, std::uint32_t slots) {
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    Request request;
    const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 9 + slot, slot);
    request.tokens = prompt;
    request.max_tokens = 8;
    request.ignore_eos = true;
    EXPECT_TRUE(engine.submit(request));
  }
  std::uint64_t tokens = 0;
  const auto listen = [&](RequestId, const Token& token) { return tokens += token.id != kNoToken ? 1 : 0, true; };
  const std::uint64_t instructions = engine.plan().plan.instructions.size();
  const auto step = [&] {
    const exec::DispatchCounters before = engine.counters();
    EXPECT_TRUE(engine.step(listen));
    const exec::DispatchCounters after = engine.counters();
    EXPECT_EQ(after.total_instructions - before.total_instructions, instructions) << "every instruction once";
    return after.launches - before.launches;
  };
  PerStep found;
  found.prefill = step();
  EXPECT_EQ(tokens, slots) << "one step reads all prompts";
  found.decode = step();
  EXPECT_EQ(tokens, 2 * slots);
  EXPECT_EQ(step(), found.decode);
  EXPECT_GE(found.prefill, instructions) << "an instruction is at least one kernel";
  EXPECT_GE(found.decode, instructions);
  std::uint64_t by_opcode = 0;
  for (std::uint64_t calls : engine.counters().per_opcode) by_opcode += calls;
  EXPECT_EQ(by_opcode, engine.counters().total_instructions);
  return found;
}

/// As many kernels for sixteen slots as for one, and what a step costs stands in the tables of both host backends.
void check(const std::string& row, std::span<const std::byte> file) {
  SCOPED_TRACE(row);
  PerStep alone{};
  for (const std::uint32_t slots : {1u, 16u}) {
    EngineOptions options;
    options.slots = slots;
    options.context = 64;
    const auto engine = test::open_engine(On::cpu, file, options);
    ASSERT_TRUE(engine) << engine.error().text();
    const PerStep found = measure(**engine, slots);
    if (slots == 1) alone = found;
    EXPECT_EQ(found.prefill, alone.prefill) << slots << " slots";
    EXPECT_EQ(found.decode, alone.decode) << slots << " slots";
  }
  for (const auto& [on, backend] : {std::pair(On::cpu, "cpu"), std::pair(On::reference, "reference")}) {
    trace::Timeline timeline({.bytes = 1 << 20});
    const auto engine = test::open_watched_engine(on, file, {.context = 64, .chunk = 16}, timeline);
    ASSERT_TRUE(engine) << engine.error().text();
    const test::StepTable found = test::measure_costs(**engine, timeline);
    test::expect_costs(backend, row, found);
    if (on == On::cpu) {
      EXPECT_EQ(found["prefill"]["launches"], alone.prefill);
      EXPECT_EQ(found["decode"]["launches"], alone.decode);
    }
  }
}

void check_file(const std::string& row, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  ASSERT_FALSE(bytes.empty()) << path;
  const test::ModelFile file(std::as_bytes(std::span(bytes)));
  check(row, file.bytes());
}

TEST(Launches, TinyModelsOfEveryFamily) {
  for (const test::TinySpec& spec : test::kTinyFamilies) {
    const test::ModelFile file = test::tiny_model(spec);
    check("tiny/" + std::string(spec.name), file.bytes());
  }
}

TEST(Launches, GoldenFamilies) {
  const std::filesystem::path golden = std::filesystem::path(ZRT_SHARED_DIR) / "golden" / "arch";
  if (!std::filesystem::exists(golden)) GTEST_SKIP() << "NOT RUN: there is no golden data at " << golden;
  for (const std::string_view name : test::kGoldenModels)
    check_file("golden/" + std::string(name), (golden / (std::string(name) + ".gguf")).string());
}

/// The model of the examples is part of the repository.
TEST(Launches, Bard) { check_file("bard", ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf"); }

}  // namespace
}  // namespace launches_test
