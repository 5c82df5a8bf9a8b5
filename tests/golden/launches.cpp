// SPDX-License-Identifier: Apache-2.0
// tests/golden/launches.cpp: kernels per step of every family, as recorded for 1 and for 16 slots, against checked-in numbers.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <data/models/tiny_models.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <support/engines.hpp>
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

nlohmann::json table() {
  std::ifstream in(std::filesystem::path(ZRT_TEST_DATA_DIR) / "launches" / "per_step.json");
  return nlohmann::json::parse(in);
}

void check(const std::string& name, const nlohmann::json& row,
           const std::function<test::AnyEngine(const EngineOptions&)>& open) {
  SCOPED_TRACE(name);
  const PerStep stated{row.at("prefill").get<std::uint64_t>(), row.at("decode").get<std::uint64_t>()};
  PerStep alone{};
  for (const std::uint32_t slots : {1u, 16u}) {
    EngineOptions options;
    options.slots = slots;
    options.context = 64;
    const auto engine = open(options);
    ASSERT_TRUE(engine) << engine.error().text();
    const PerStep found = measure(**engine, slots);
    std::printf("%-14s %2u slots: prefill %llu, decode %llu (stated %llu, %llu)\n", name.c_str(), slots,
                static_cast<unsigned long long>(found.prefill), static_cast<unsigned long long>(found.decode),
                static_cast<unsigned long long>(stated.prefill), static_cast<unsigned long long>(stated.decode));
    // Fewer is welcome, and then the table is due for an update; more than a tenth above fails.
    EXPECT_LE(found.prefill * 10, stated.prefill * 11) << slots << " slots";
    EXPECT_LE(found.decode * 10, stated.decode * 11) << slots << " slots";
    if (slots == 1) alone = found;
    EXPECT_EQ(found.prefill, alone.prefill) << slots << " slots";
    EXPECT_EQ(found.decode, alone.decode) << slots << " slots";
  }
}

TEST(Launches, TinyModelsOfEveryFamily) {
  const nlohmann::json rows = table();
  for (const test::TinySpec& spec : test::kTinyFamilies) {
    const test::ModelFile file = test::tiny_model(spec);
    check(std::string(spec.name), rows.at(std::string(spec.name)),
          [&](const EngineOptions& options) { return test::open_engine(On::cpu, file.bytes(), options); });
  }
}

const std::filesystem::path kGolden = std::filesystem::path(ZRT_SHARED_DIR) / "golden" / "arch";

void check_golden(const std::string& name, const nlohmann::json& rows) {
  const std::string path = (kGolden / (name + ".gguf")).string();
  check(name, rows.at(name),
        [&](const EngineOptions& options) { return test::open_engine(On::cpu, std::string_view(path), options); });
}

TEST(Launches, GoldenFamilies) {
  if (!std::filesystem::exists(kGolden)) GTEST_SKIP() << "NOT RUN: there is no golden data at " << kGolden;
  const nlohmann::json rows = table();
  for (const test::TinySpec& spec : test::kTinyFamilies) check_golden(std::string(spec.name), rows);
}

TEST(Launches, GoldenQuantised) {
  if (!std::filesystem::exists(kGolden)) GTEST_SKIP() << "NOT RUN: there is no golden data at " << kGolden;
  constexpr auto kNames = std::to_array<const char*>(
      {"llama-q4_0", "llama-q4_k_m", "llama-q8_0", "qwen3-q4_0", "qwen3-q4_k_m", "qwen3-q8_0"});
  const nlohmann::json rows = table();
  for (const char* name : kNames) check_golden(name, rows);
}

/// The model of the examples is part of the repository.
TEST(Launches, Bard) {
  const std::string path = ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf";
  check("bard", table().at("bard"),
        [&](const EngineOptions& options) { return test::open_engine(On::cpu, std::string_view(path), options); });
}

}  // namespace
}  // namespace launches_test
