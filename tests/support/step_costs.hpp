// SPDX-License-Identifier: Apache-2.0
// tests/support/step_costs.hpp: what a step of a model costs on a backend, against a checked-in table.
#pragma once

#include <zrt/trace/profile.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <data/models/tiny_models.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <support/engines.hpp>
#include <vector>

namespace zrt::test {

using StepTable = nlohmann::ordered_json;

/// Models of shared data, one of each family, rope and weight type that the engine runs.
inline constexpr auto kGoldenModels = std::to_array<std::string_view>({"llama",         "llama-bias",
                                                                       "llama-linear",  "llama-rope3",
                                                                       "llama-yarn",    "llama-q4_0",
                                                                       "llama-q4_k_m",  "llama-q8_0",
                                                                       "qwen2",         "qwen3",
                                                                       "qwen3-q4_0",    "qwen3-q4_k_m",
                                                                       "qwen3-q8_0",    "gemma2",
                                                                       "gemma3",        "phi3",
                                                                       "phi3-longrope", "phi3-shortrope",
                                                                       "mamba",         "mamba2",
                                                                       "granitehybrid", "granitehybrid-rope",
                                                                       "lfm2",          "qwen35",
                                                                       "llama-moe",     "qwen3moe",
                                                                       "qwen3moe-q4_0", "qwen3moe-q4_k_m",
                                                                       "qwen3moe-q8_0", "gpt-oss"});

/// One step: kernels, and the bytes that its instructions must move.
inline StepTable step_costs(const trace::Timeline& timeline, const trace::TimedStep& step) {
  const exec::ObservedProgram& program = timeline.programs()[step.program];
  plan::Traffic all;
  for (std::size_t i = 0; i < program.compiled->plan.instructions.size(); ++i) {
    const plan::Traffic one = plan::traffic(program.compiled->plan, program.compiled->plan.instruction(i), step.work);
    all.weights += one.weights;
    all.activations += one.activations;
    all.pages += one.pages;
  }
  return {{"tokens", step.work.tokens},
          {"launches", program.calls},
          {"weight_bytes", all.weights},
          {"activation_bytes", all.activations},
          {"page_bytes", all.pages}};
}

/// The row of a model: a prompt of nine tokens, then single ones, in one slot. `timeline` watches the engine; `decodes` is
/// called before the first single token.
inline StepTable measure_costs(
    HostEngine& engine, const trace::Timeline& timeline, const std::function<void()>& decodes = [] {}) {
  Request request;
  const std::vector<std::int32_t> prompt = tiny_prompt(64, 9, 0);
  request.tokens = prompt;
  request.max_tokens = 8;
  request.ignore_eos = true;
  EXPECT_TRUE(engine.submit(request));
  const auto step = [&] {
    const auto stepped = engine.step([](RequestId, const Token&) { return true; });
    EXPECT_TRUE(stepped) << stepped.error().text();
  };
  step();
  decodes();
  step();
  if (timeline.steps().size() != 2) {
    ADD_FAILURE() << "two steps are expected, found " << timeline.steps().size();
    return {};
  }
  // Weights that two instructions share count once.
  const plan::ExecutionPlan& plan = engine.plan().plan;
  std::uint64_t weights = 0;
  std::set<std::string_view> names;
  for (const plan::PlanWeight& w : plan.weights)
    if (names.insert(w.name.view()).second) weights += plan::weight_bytes(w);
  const EngineBytes bytes = engine.bytes();
  return {{"instructions", plan.instructions.size()},
          {"prefill", step_costs(timeline, timeline.steps()[0])},
          {"decode", step_costs(timeline, timeline.steps()[1])},
          {"memory",
           {{"weights", weights},
            {"states", bytes.states},
            {"prefill_arena", bytes.prefill_arena},
            {"decode_arena", bytes.decode_arena}}}};
}

/// The rows of tests/data/step_costs/<backend>.json.
inline StepTable step_table(const std::string& backend) {
  const std::filesystem::path path = std::filesystem::path(ZRT_TEST_DATA_DIR) / "step_costs" / (backend + ".json");
  StepTable table = StepTable::object();
  if (std::ifstream in(path); in) table = StepTable::parse(in, nullptr, false);
  EXPECT_FALSE(table.is_discarded()) << path << " is no JSON";
  return table;
}

/// Compares a row with tests/data/step_costs/<backend>.json; with ZRT_WRITE_TABLES in the environment, writes it there
/// instead. `./dev tables` does that for all rows.
inline void expect_costs(const std::string& backend, const std::string& model, const StepTable& found) {
  const std::filesystem::path path = std::filesystem::path(ZRT_TEST_DATA_DIR) / "step_costs" / (backend + ".json");
  StepTable table = step_table(backend);
  ASSERT_FALSE(table.is_discarded());
  if (std::getenv("ZRT_WRITE_TABLES") != nullptr) {
    table[model] = found;
    // By name, so that a row written anew stays where it was.
    const nlohmann::json sorted(table);
    StepTable ordered = StepTable::object();
    for (const auto& [name, unused] : sorted.items()) ordered[name] = table[name];
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << ordered.dump(1) << "\n";
    return;
  }
  ASSERT_TRUE(table.contains(model)) << path << " has no row " << model << "; ./dev tables writes it";
  EXPECT_EQ(table[model].dump(1), found.dump(1))
      << backend << ", " << model << ": if the change is meant, ./dev tables writes the new figures";
}

}  // namespace zrt::test
