// SPDX-License-Identifier: Apache-2.0
// tests/golden/bard.cpp: a trained model against an independent forward pass in double precision.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <support/engines.hpp>
#include <support/validated.hpp>
#include <vector>

namespace bard_test {
namespace {

using namespace zrt;

const std::filesystem::path kFolder = std::filesystem::path(ZRT_SHARED_DIR) / "models";

bool have_data() {
  if (std::filesystem::exists(kFolder / "bard-golden.json")) return true;
  std::fprintf(stderr, "SKIPPED: there are no models at %s\n", kFolder.c_str());
  return false;
}

nlohmann::json golden_cases(const std::string& file) {
  std::ifstream in(kFolder / "bard-golden.json");
  const nlohmann::json all = nlohmann::json::parse(in);
  nlohmann::json chosen = nlohmann::json::array();
  for (const nlohmann::json& one : all)
    if (one.at("file") == file) chosen.push_back(one);
  return chosen;
}

EngineOptions exact_options() {
  EngineOptions options;
  options.kv_type = DType::f32;
  options.numerics.act = ActPolicy::none;
  options.logit_rows = 64;
  return options;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

class Bard : public testing::TestWithParam<const char*> {};

TEST_P(Bard, GreedyIdsTextAndLogits) {
  if (!have_data()) GTEST_SKIP();
  const std::string file = GetParam();
  auto engine = test::open_engine(test::On::cpu, (kFolder / file).string(), exact_options());
  ASSERT_TRUE(engine) << engine.error().text();
  const nlohmann::json cases = golden_cases(file);
  ASSERT_EQ(cases.size(), 3u);
  for (const nlohmann::json& one : cases) {
    const auto prompt = one.at("prompt").get<std::string>();
    const auto prompt_ids = one.at("prompt_ids").get<std::vector<std::int32_t>>();
    const auto greedy = one.at("greedy_ids").get<std::vector<std::int32_t>>();
    const auto expected = one.at("logits_at_prompt_end").get<std::vector<double>>();
    std::vector<std::int32_t> ids;
    std::string text;
    Request request;
    request.prompt = prompt;
    request.max_tokens = static_cast<std::uint32_t>(greedy.size());
    const auto done = (*engine)->generate(request, [&](const Token& token) {
      if (token.id != kNoToken) ids.push_back(token.id);
      text += token.text;
      return true;
    });
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->prompt_tokens, prompt_ids.size());
    EXPECT_EQ(ids, greedy) << prompt;
    // The golden text was decoded on its own, which drops a first space; here it continues the prompt.
    EXPECT_EQ(text.starts_with(' ') ? text.substr(1) : text, one.at("text").get<std::string>());
    double error = 0, power = 0, largest = 0;
    const auto evaluated = (*engine)->evaluate(prompt_ids, {}, [&](std::uint32_t position, std::span<const float> row) {
      if (position + 1 != prompt_ids.size()) return;
      ASSERT_EQ(row.size(), expected.size());
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double d = double{row[i]} - expected[i];
        largest = std::max(largest, std::fabs(d));
        error += d * d;
        power += expected[i] * expected[i];
      }
    });
    ASSERT_TRUE(evaluated) << evaluated.error().text();
    ASSERT_GT(power, 0.0);
    std::printf("%-14s \"%.12s\": logits at the prompt's end: nmse %.2e, largest difference %.2e\n", file.c_str(),
                prompt.c_str(), error / power, largest);
    EXPECT_LT(largest, 1e-3);
    EXPECT_LT(error / power, 1e-10);
  }
}
INSTANTIATE_TEST_SUITE_P(Golden, Bard,
                         testing::Values("bard-f32.gguf", "bard-q8_0.gguf", "bard-q4_0.gguf", "bard-q4_k_m.gguf"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

/// Both backends, with the plan's rounding and the default kinds of memory: the same bits in every value.
TEST_P(Bard, BothBackendsAgree) {
  if (!have_data()) GTEST_SKIP();
  const std::string path = (kFolder / GetParam()).string();
  EngineOptions options;
  options.context = 64;
  options.chunk = 16;
  options.logit_rows = 16;
  options.keep_values = true;
  auto cpu = test::open_engine(test::On::cpu, path, options);
  ASSERT_TRUE(cpu) << cpu.error().text();
  auto reference = test::open_engine(test::On::reference, path, options);
  ASSERT_TRUE(reference) << reference.error().text();
  const std::vector<std::int32_t> prompt{1, 1855, 1993, 13};
  const std::vector<std::int32_t> decode{1995, 1975, 272, 333};
  test::expect_validated((*cpu)->validated(), (*reference)->validated(), prompt, decode, 3);
}

/// The beginning of the text that the model was not trained on; llama.cpp finds 31.3 over all of it.
TEST(BardPerplexity, TwoWindowsOnBothBackends) {
  if (!have_data()) GTEST_SKIP();
  const std::string whole = read_text(kFolder / "bard-valid.txt");
  const std::string text = whole.substr(0, 1500);
  EngineOptions options;
  options.logit_rows = 256;
  auto cpu = test::open_engine(test::On::cpu, (kFolder / "bard-q8_0.gguf").string(), options);
  ASSERT_TRUE(cpu) << cpu.error().text();
  auto reference = test::open_engine(test::On::reference, (kFolder / "bard-q8_0.gguf").string(), options);
  ASSERT_TRUE(reference) << reference.error().text();
  const auto fast = (*cpu)->perplexity(text);
  ASSERT_TRUE(fast) << fast.error().text();
  const auto oracle = (*reference)->perplexity(text);
  ASSERT_TRUE(oracle) << oracle.error().text();
  std::printf("perplexity of the first %zu characters: %.4f\n", text.size(), *fast);
  EXPECT_EQ(*fast, *oracle);
  EXPECT_GT(*fast, 10.0);
  EXPECT_LT(*fast, 60.0);
}

}  // namespace
}  // namespace bard_test
