// SPDX-License-Identifier: Apache-2.0
// tests/unit/rope_scaling_keys.cpp: what the keys of a file say, of rope scaling above all, with llama.cpp's defaults.
#include <zrt/model/arch/llama.hpp>

#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rope_scaling_keys_test {
namespace {

using namespace zrt;
using ops::RopeScaling;

struct Keys {
  std::optional<std::string> type{};
  std::optional<float> factor{};
  std::optional<float> scale_linear{};
  std::vector<std::pair<std::string, float>> yarn{};
  bool epsilon = true;
  std::optional<std::uint32_t> experts{};
};

Result<model::DecoderConfig> read(const Keys& keys) {
  test::GgufWriter w;
  w.add("general.architecture", "llama");
  for (const char* key : {"context_length", "embedding_length", "feed_forward_length"})
    w.add(std::string("llama.") + key, std::uint32_t{64});
  w.add("llama.block_count", std::uint32_t{1});
  w.add("llama.attention.head_count", std::uint32_t{2});
  if (keys.epsilon) w.add("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  if (keys.experts) w.add("llama.expert_count", *keys.experts);
  if (keys.type) w.add("llama.rope.scaling.type", *keys.type);
  if (keys.factor) w.add("llama.rope.scaling.factor", *keys.factor);
  if (keys.scale_linear) w.add("llama.rope.scale_linear", *keys.scale_linear);
  for (const auto& [key, value] : keys.yarn) w.add("llama.rope.scaling." + key, value);
  w.add_tensor("token_embd.weight", 0, {64, 2}, test::Bytes(64 * 2 * sizeof(float)));
  const test::ModelFile bytes(w.build());
  auto file = model::GgufFile::open(bytes.bytes(), system_allocator());
  if (!file) return pass(file);
  model::ConfigReader meta(*file, "llama");
  model::DecoderConfig config;
  if (auto r = model::read_config<model::Llama>(meta, config); !r) return pass(r);
  return config;
}

void expect(const Keys& keys, RopeScaling scaling, float factor) {
  const auto config = read(keys);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->rope.scaling, scaling);
  EXPECT_EQ(config->rope.factor, factor);
}

TEST(ModelConfig, AnEpsilonIsNotGuessed) {
  const auto config = read({.epsilon = false});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code(), Errc::missing_metadata);
  EXPECT_NE(config.error().text().find("llama.attention.layer_norm_rms_epsilon"), std::string_view::npos);
}

TEST(ModelConfig, ExpertsAreNamedAsWhatIsMissing) {
  EXPECT_TRUE(read({.experts = 0}));
  const auto config = read({.experts = 4});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code(), Errc::unimplemented);
  EXPECT_NE(config.error().text().find("llama.expert_count is 4"), std::string_view::npos);
}

TEST(RopeScalingKeys, WithoutAnyNothingIsScaled) { expect({}, RopeScaling::none, 1.0f); }

TEST(RopeScalingKeys, AFactorWithoutATypeIsLinear) {
  expect({.factor = 4.0f}, RopeScaling::linear, 4.0f);
  expect({.scale_linear = 2.0f}, RopeScaling::linear, 2.0f);
}

TEST(RopeScalingKeys, TheNewNameOfTheFactorCountsBeforeTheOld) {
  expect({.factor = 4.0f, .scale_linear = 2.0f}, RopeScaling::linear, 4.0f);
  expect({.type = "linear", .scale_linear = 2.0f}, RopeScaling::linear, 2.0f);
  expect({.type = "yarn", .scale_linear = 2.0f}, RopeScaling::yarn, 2.0f);
}

TEST(RopeScalingKeys, YarnHasKeysOfItsOwn) {
  const auto config = read({.type = "yarn",
                            .factor = 4.0f,
                            .yarn = {{"attn_factor", 2.0f},
                                     {"yarn_attn_factor", 1.5f},
                                     {"yarn_beta_fast", 16.0f},
                                     {"yarn_beta_slow", 2.0f},
                                     {"yarn_ext_factor", -1.0f}}});
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->rope.magnitude, 3.0f);
  EXPECT_EQ(config->rope.beta_fast, 16.0f);
  EXPECT_EQ(config->rope.beta_slow, 2.0f);
  for (const float mix : {0.0f, 0.5f, std::numeric_limits<float>::quiet_NaN()}) {
    const auto mixed = read({.type = "yarn", .factor = 4.0f, .yarn = {{"yarn_ext_factor", mix}}});
    ASSERT_FALSE(mixed) << mix;
    EXPECT_EQ(mixed.error().code(), Errc::unimplemented);
  }
}

TEST(RopeScalingKeys, KeysOfYarnMeanNothingElsewhere) {
  expect({.type = "linear", .factor = 4.0f, .yarn = {{"yarn_beta_fast", 16.0f}, {"yarn_ext_factor", 0.5f}}},
         RopeScaling::linear, 4.0f);
}

TEST(RopeScalingKeys, TheTypeNoneScalesNothing) {
  expect({.type = "none", .factor = 4.0f}, RopeScaling::none, 1.0f);
  expect({.type = "none", .scale_linear = 2.0f}, RopeScaling::none, 1.0f);
}

TEST(RopeScalingKeys, AFactorOfZeroIsNone) {
  expect({.factor = 0.0f}, RopeScaling::none, 1.0f);
  expect({.factor = 0.0f, .scale_linear = 2.0f}, RopeScaling::none, 1.0f);
}

TEST(RopeScalingKeys, OtherTypesAndNegativeFactorsAreRefused) {
  for (const Keys& keys : {Keys{.factor = -1.0f}, Keys{.scale_linear = -1.0f}}) {
    const auto config = read(keys);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().code(), Errc::invalid_metadata) << config.error().text();
  }
  const auto other = read({.type = "longrope"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Errc::unimplemented);
  EXPECT_EQ(other.error().text(), "llama.rope.scaling.type is longrope, expected none, linear or yarn");
}

}  // namespace
}  // namespace rope_scaling_keys_test
