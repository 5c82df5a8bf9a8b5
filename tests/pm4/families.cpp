// SPDX-License-Identifier: Apache-2.0
// tests/pm4/families.cpp: golden models of every family whose ops cards claim: every value is the reference's.
#include <gtest/gtest.h>

#include <algorithm>
#include <data/models/tiny_models.hpp>
#include <filesystem>
#include <iterator>
#include <pm4/engine_card.hpp>
#include <string>
#include <support/card_families.hpp>
#include <support/engines.hpp>
#include <support/validated.hpp>
#include <vector>

namespace zrt::test {

/// How GTest names a model where a test of it fails.
inline void PrintTo(const GoldenModel& model, std::ostream* out) { *out << model.name; }

}  // namespace zrt::test

namespace zrt::test::families_test {
namespace {

/// A prompt in two steps, and generated tokens: state and pages outlive a step.
constexpr std::array<std::int32_t, 3> kPrompt{1, 5, 9};
constexpr std::array<std::int32_t, 2> kFed{3, 8};

template <class E>
std::vector<float> logits_of(E& engine, std::span<const std::int32_t> prompt = kPrompt,
                             std::span<const std::int32_t> fed = kFed) {
  std::vector<float> all;
  const auto done = engine.evaluate(
      prompt, fed, [&](std::uint32_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  EXPECT_TRUE(done) << done.error().text();
  return all;
}

class Pm4Family : public testing::TestWithParam<GoldenModel> {};

TEST_P(Pm4Family, HasTheReferencesBitsInEveryValue) {
  const GoldenModel& model = GetParam();
  const auto folder = model.own ? std::filesystem::path(ZRT_TEST_DATA_DIR) / "peer"
                                : std::filesystem::path(ZRT_SHARED_DIR) / "golden/arch";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "SKIPPED: there is no " << folder;
  const std::string path = (folder / model.name).string() + ".gguf";
  // Each processor and each way to its queues has its share of the families.
  const auto at = static_cast<std::size_t>(&*std::ranges::find_if(kGoldenF32, [&](const GoldenModel& m) {
    return m.own == model.own && std::string_view(m.name) == model.name;
  }) - kGoldenF32.data());
  EngineOptions options = small();
  options.keep_values = true;
  OnCard on(kCardWays[at % kCardWays.size()], path, options);
  ASSERT_TRUE(on.engine) << on.why(on.engine.error());
  const auto reference = open_engine(On::reference, path, options);
  ASSERT_TRUE(reference) << reference.error().text();
  expect_validated(trace::ValidatedExecutor::of(on.engine->executor()), (*reference)->validated(), kPrompt, kFed, 2);
}

std::string test_name(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}
/// docs/models.md says what cards lack of the others.
std::vector<GoldenModel> models_that_run() {
  std::vector<GoldenModel> models;
  std::ranges::copy_if(kGoldenF32, std::back_inserter(models), runs_on_cards);
  return models;
}
INSTANTIATE_TEST_SUITE_P(Golden, Pm4Family, testing::ValuesIn(models_that_run()), [](const auto& model) {
  return test_name((model.param.own ? "own_" : "") + std::string(model.param.name));
});

TEST(Pm4RecurrentState, IsZeroWhereASequenceBegins) {
  const std::string path = ZRT_SHARED_DIR "/golden/arch/lfm2.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "SKIPPED: there is no " << path;
  OnCard on(kCardWays.front(), path, small());
  ASSERT_TRUE(on.engine) << on.why(on.engine.error());
  const std::vector<float> first = logits_of(*on.engine);
  ASSERT_FALSE(first.empty());
  EXPECT_TRUE(logits_of(*on.engine) == first) << "what the first sequence left is seen by the second";
}

/// The lists of a windowed layer name no pages before the window, and the card has no more of them than it needs.
TEST(Pm4Windows, PagesThatWentBackAreNotRead) {
  const std::vector<std::int32_t> prompt = tiny_prompt(64, 75, 4), fed = tiny_prompt(64, 3, 5);
  const auto spec = std::ranges::find(kTinyFamilies, "gemma2", &TinySpec::name);
  ASSERT_NE(spec, kTinyFamilies.end());
  const ModelFile file = tiny_model(*spec);
  EngineOptions options = small();
  options.logit_rows = 16;
  const auto host = open_engine(On::cpu, file.bytes(), options);
  ASSERT_TRUE(host) << host.error().text();
  std::vector<float> expected;
  ASSERT_TRUE((*host)->evaluate(prompt, fed, [&](std::uint32_t, std::span<const float> row) {
    expected.insert(expected.end(), row.begin(), row.end());
  }));
  for (const CardWay& way : std::span(kCardWays).first(2)) {
    OnCard on(way, file.bytes(), options);
    ASSERT_TRUE(on.engine) << on.why(on.engine.error());
    EXPECT_LT(on.engine->executor().cache_groups()[1].pages, on.engine->executor().cache_groups()[0].pages);
    EXPECT_TRUE(logits_of(*on.engine, prompt, fed) == expected) << way.name();
  }
}

}  // namespace
}  // namespace zrt::test::families_test
