// SPDX-License-Identifier: Apache-2.0
// tests/unit/family_keys.cpp: a family reads its keys, knows which others change nothing, and refuses the rest by name.
#include <zrt/models.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <data/models/tiny_models.hpp>
#include <optional>
#include <string>
#include <vector>

namespace family_keys_test {
namespace {

using namespace zrt;

/// A file of family F with heads of 64, three layers and what `change` adds, read for slots of 1,000 positions.
template <class F, class Change>
Result<model::DecoderConfig> read_file(Change change, std::uint64_t* values = nullptr, std::uint32_t layers = 3) {
  const std::string family(F::names[0]);
  test::GgufWriter w;
  w.add("general.architecture", family);
  for (const auto& [key, value] : {std::pair{"context_length", 2048u}, std::pair{"embedding_length", 256u},
                                   std::pair{"block_count", layers}, std::pair{"attention.head_count", 4u}})
    w.add(family + "." + key, value);
  w.add(family + ".attention.layer_norm_rms_epsilon", 1e-5f);
  w.add(family + "_not.of_this", 1u);
  change(w, family);
  w.add_f32("token_embd.weight", {256, 4}, std::vector<float>(1024, 0.5f));
  const test::ModelFile bytes(w.build());
  const auto file = model::GgufFile::open(bytes.bytes(), system_allocator());
  if (!file) return pass(file);
  model::ConfigReader meta(*file, family, {.context = 1000});
  model::DecoderConfig config;
  if (auto r = model::read_config<F>(meta, config); !r) return pass(r);
  if (values != nullptr) *values = meta.values();
  return config;
}

/// The same with one more key.
template <class F = model::Llama, class T> Result<model::DecoderConfig> judge(std::string_view key, const T& value) {
  return read_file<F>([&](test::GgufWriter& w, const std::string& family) {
    if (key != "feed_forward_length") w.add(family + ".feed_forward_length", 48u);
    if constexpr (requires { value.begin(); })
      w.add_array(family + "." + std::string(key), value);
    else
      w.add(family + "." + std::string(key), value);
  });
}

template <class F = model::Llama, class T>
void refused(std::string_view key, const T& value, std::string_view text = {}, Errc code = Errc::unimplemented) {
  const auto judged = judge<F>(key, value);
  ASSERT_FALSE(judged) << key;
  EXPECT_EQ(judged.error().code(), code) << judged.error().text();
  const std::string full = std::string(F::names[0]) + "." + std::string(key);
  EXPECT_NE(judged.error().text().find(full), std::string_view::npos) << judged.error().text();
  if (!text.empty()) {
    EXPECT_EQ(judged.error().text(), full + std::string(text));
  }
}

TEST(FamilyKeys, ANeutralValuePassesAndAnyOtherIsRefusedByName) {
  for (const auto& [key, neutral] : model::kArithmeticKeys) {
    EXPECT_EQ(judge(key, 0.0f).has_value(), neutral != model::Neutral::yes) << key;
    EXPECT_EQ(judge(key, 1.0f).has_value(), neutral != model::Neutral::zero) << key;
    if (neutral == model::Neutral::yes) continue;
    refused(key, 30.0f);
    refused(key, std::nanf(""));
    refused(key, -1.0);
    refused(key, std::vector<std::uint32_t>{1, 2, 3}, {}, Errc::invalid_metadata);
  }
  EXPECT_TRUE(judge("attention.causal", true));
  refused("attention.causal", false);
  refused("logit_scale", 0.0625f,
          " is 0.0625, which changes what the model computes, but its family does not read it; expected 0 or 1");
  refused("use_parallel_residual", true,
          " is true, which changes what the model computes, but its family does not read it; expected 0");
}

TEST(FamilyKeys, InformationOfAnyValuePasses) {
  for (const auto& [key, neutral] : model::kInformationKeys) {
    EXPECT_EQ(neutral, model::Neutral::any);
    EXPECT_TRUE(judge(key, 7u)) << key;
    EXPECT_TRUE(judge(key, "text")) << key;
  }
}

TEST(FamilyKeys, AnUnknownKeyIsRefusedByName) {
  refused("warp", 3u, " is 3, but its family does not read it; expected no such key");
  refused("warp", -3, " is -3, but its family does not read it; expected no such key");
  refused("warp", -12.5, " is -12.5, but its family does not read it; expected no such key");
  refused("warp", 1e30f, " is a number beyond 10^12, or none, but its family does not read it; expected no such key");
  refused("warp", "fast", " is fast, but its family does not read it; expected no such key");
  refused("warp", std::vector<float>{1, 2},
          " is an array of 2 f32, but its family does not read it; expected no such key");
}

TEST(FamilyKeys, ScoresAreScaledByTheRootOfTheKeyLength) {
  EXPECT_TRUE(judge("attention.scale", 0.125f));
  EXPECT_TRUE(judge("attention.scale", 0.0f));
  refused("attention.scale", 0.1251f);
  refused("attention.scale", -0.125f);
}

TEST(FamilyKeys, AWindowMustHoldTheSlot) {
  EXPECT_TRUE(judge("attention.sliding_window", std::uint32_t{0}));
  EXPECT_TRUE(judge("attention.sliding_window", std::uint32_t{1000}));
  EXPECT_TRUE(judge("attention.sliding_window", std::int32_t{-1}));
  refused("attention.sliding_window", std::uint32_t{999});
}

TEST(FamilyKeys, AnArrayByLayerIsReadWhereLayersMayDiffer) {
  const auto config = judge("attention.head_count_kv", std::vector<std::uint32_t>{4, 2, 1});
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->kv_heads[0], 4u);
  EXPECT_EQ(config->kv_heads[1], 2u);
  EXPECT_EQ(config->kv_heads[2], 1u);
  const auto ff = judge("feed_forward_length", std::vector<std::int32_t>{32, 64, 96});
  ASSERT_TRUE(ff) << ff.error().text();
  EXPECT_EQ(ff->ff[2], 96u);
  refused("attention.head_count_kv", std::vector<std::uint32_t>{4, 2},
          " has 2 values, expected one for each of 3 layers", Errc::invalid_metadata);
  refused("attention.head_count_kv", std::vector<std::uint32_t>{4, 0, 1}, " is 0, expected 1..4",
          Errc::invalid_metadata);
  EXPECT_EQ(judge("attention.head_count_kv", std::vector<std::uint32_t>{4, 3, 1}).error().code(),
            Errc::invalid_metadata);
}

TEST(FamilyKeys, ElsewhereAnArrayMustSayTheSameOfAllLayers) {
  const auto config = judge("attention.key_length", std::vector<std::uint32_t>{32, 32, 32});
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->key_dim, 32u);
  refused("attention.key_length", std::vector<std::uint32_t>{32, 32, 64},
          " is 32 and 64 in different layers, expected the same in all");
}

TEST(FamilyKeys, AKeyThatTheFamilyReadsIsItsOwn) {
  EXPECT_FALSE(judge("residual_scale", 0.25f));
  const auto config = judge<model::Granite>("residual_scale", 0.25f);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->residual_scale, 0.25f);
  EXPECT_EQ(config->embedding_scale, 1.0f);
  EXPECT_EQ(config->attention_scale, 0.125f);
  const auto scale = judge<model::Granite>("attention.scale", 0.5f);
  ASSERT_TRUE(scale) << scale.error().text();
  EXPECT_EQ(scale->attention_scale, 0.5f);
  refused<model::Granite>("logit_scale", "four", {}, Errc::invalid_metadata);
  EXPECT_EQ(judge<model::Granite>("final_logit_softcapping", 30.0f).error().code(), Errc::unimplemented);
}

/// Two models that differ in nothing but a key that the family reads are two models to snapshots.
TEST(FamilyKeys, ValuesTellModelsApart) {
  const auto hash = [](auto family, std::string_view key, float value) {
    std::uint64_t values = 0;
    const auto config = read_file<typename decltype(family)::type>(
        [&](test::GgufWriter& w, const std::string& name) {
          w.add(name + ".feed_forward_length", 48u);
          w.add(name + "." + std::string(key), value);
        },
        &values);
    EXPECT_TRUE(config) << config.error().text();
    return values;
  };
  constexpr std::type_identity<model::Granite> granite;
  EXPECT_EQ(hash(granite, "logit_scale", 4.0f), hash(granite, "logit_scale", 4.0f));
  EXPECT_NE(hash(granite, "logit_scale", 4.0f), hash(granite, "logit_scale", 2.0f));
  constexpr std::type_identity<model::Llama> llama;
  EXPECT_EQ(hash(llama, "logit_scale", 0.0f), hash(llama, "logit_scale", 1.0f)) << "llama does not read it";
}

TEST(FamilyKeys, TheHostChoosesPositions) {
  const auto config = judge("vocab_size", 4u);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->positions, 1000u);
  EXPECT_EQ(config->context, 2048u);
  EXPECT_EQ(config->vocabulary, 4u);
}

using Counts = std::initializer_list<std::pair<const char*, std::uint32_t>>;
using Numbers = std::initializer_list<std::pair<const char*, float>>;

/// A file of F with keys of these names, beside those that every file has.
template <class F>
Result<model::DecoderConfig> read_keys(Counts counts, Numbers numbers, const char* scaling = nullptr) {
  return read_file<F>([&](test::GgufWriter& w, const std::string& family) {
    w.add(family + ".feed_forward_length", 48u);
    for (const auto& [key, value] : counts) w.add(family + "." + key, value);
    for (const auto& [key, value] : numbers) w.add(family + "." + key, value);
    if (scaling != nullptr) w.add(family + ".rope.scaling.type", scaling);
  });
}

/// The keys of the architecture in published files: none of them may refuse a file that the family computes.
TEST(FamilyKeys, PublishedFilesAreRead) {
  const auto accepted = [](const Result<model::DecoderConfig>& config) {
    EXPECT_TRUE(config) << config.error().text();
  };
  const Counts heads{{"attention.head_count_kv", 2},
                     {"attention.key_length", 64},
                     {"attention.value_length", 64},
                     {"rope.dimension_count", 64},
                     {"vocab_size", 4}};
  accepted(read_keys<model::Llama>(heads, {{"rope.freq_base", 5e5f}}));
  accepted(read_keys<model::Llama>({{"vocab_size", 4}, {"expert_count", 0}, {"expert_used_count", 0}},
                                   {{"rope.scaling.factor", 2.0f}}, "linear"));
  accepted(read_keys<model::Qwen2>({{"attention.head_count_kv", 2}}, {{"rope.freq_base", 1e6f}}));
  accepted(read_keys<model::Qwen2>({{"rope.scaling.original_context_length", 512}}, {{"rope.scaling.factor", 4.0f}},
                                   "yarn"));
  accepted(read_keys<model::Qwen3>(heads, {{"rope.freq_base", 1e6f}}));
  accepted(read_keys<model::Qwen3Moe>({{"expert_count", 8},
                                       {"expert_used_count", 2},
                                       {"expert_feed_forward_length", 24},
                                       {"expert_shared_feed_forward_length", 0}},
                                      {{"rope.freq_base", 1e6f}}));
  accepted(read_keys<model::Gemma2>(
      {{"attention.key_length", 64}, {"attention.value_length", 64}, {"attention.sliding_window", 512}},
      {{"attn_logit_softcapping", 50.0f}, {"final_logit_softcapping", 30.0f}}));
  accepted(read_keys<model::Gemma3>({{"attention.sliding_window", 512}},
                                    {{"rope.freq_base", 1e6f}, {"rope.scaling.factor", 8.0f}}, "linear"));
  accepted(read_keys<model::Phi3>(
      {{"rope.scaling.original_context_length", 512}, {"attention.sliding_window", 256}, {"rope.dimension_count", 48}},
      {{"rope.scaling.attn_factor", 1.25f}}));
}

TEST(FamilyKeys, GemmaHasWindowsByLayerAndScalesFromItsSizes) {
  const auto gemma2 = read_keys<model::Gemma2>({}, {});
  ASSERT_TRUE(gemma2) << gemma2.error().text();
  EXPECT_EQ(gemma2->window, 4096u);
  EXPECT_EQ(gemma2->windowed[0] + gemma2->windowed[2], 2);
  EXPECT_EQ(gemma2->windowed[1], 0);
  EXPECT_EQ(gemma2->score_cap, 50.0f);
  EXPECT_EQ(gemma2->logit_cap, 30.0f);
  EXPECT_EQ(gemma2->embedding_scale, 16.0f);
  EXPECT_EQ(gemma2->attention_scale, 0.125f);
  EXPECT_EQ(read_keys<model::Gemma3>({}, {}).error().code(), Errc::missing_metadata) << "the window";

  const auto gemma3 = read_keys<model::Gemma3>({{"attention.sliding_window", 512}},
                                               {{"rope.freq_base", 1e6f}, {"rope.scaling.factor", 8.0f}});
  ASSERT_TRUE(gemma3) << gemma3.error().text();
  EXPECT_EQ(gemma3->windowed[0] + gemma3->windowed[1] + gemma3->windowed[2], 3) << "all but each sixth";
  EXPECT_EQ(gemma3->windowed_rope.base, 1e4f);
  EXPECT_EQ(gemma3->windowed_rope.scaling, ops::RopeScaling::none);
  EXPECT_EQ(gemma3->rope.base, 1e6f);
  EXPECT_EQ(gemma3->rope.scaling, ops::RopeScaling::linear);
  const auto pattern = read_file<model::Gemma3>([](test::GgufWriter& w, const std::string& family) {
    w.add(family + ".feed_forward_length", 48u);
    w.add(family + ".attention.sliding_window", 512u);
    w.add_array(family + ".attention.sliding_window_pattern", std::vector<std::uint32_t>{0, 1, 0});
  });
  ASSERT_TRUE(pattern) << pattern.error().text();
  EXPECT_EQ(pattern->windowed[0] + pattern->windowed[2], 0);
  EXPECT_EQ(pattern->windowed[1], 1);
}

/// What files say of experts, and what a family takes where they say nothing.
TEST(FamilyKeys, ExpertsAreReadWithTheirRouting) {
  const auto few = read_keys<model::Qwen3Moe>(
      {{"expert_count", 8}, {"expert_used_count", 2}, {"expert_feed_forward_length", 24}}, {});
  ASSERT_TRUE(few) << few.error().text();
  EXPECT_EQ(few->experts.count, 8u);
  EXPECT_EQ(few->experts.ff, 24u);
  EXPECT_EQ(few->experts.shared_ff, 0u);
  EXPECT_EQ(few->experts.routing.used, 2u);
  EXPECT_EQ(few->experts.routing.groups, 1u);
  EXPECT_EQ(few->experts.routing.normalise, 1);
  EXPECT_EQ(few->experts.routing.gating, ops::Gating::softmax);
  const auto all = read_keys<model::Qwen2Moe>({{"expert_count", 8},
                                               {"expert_used_count", 2},
                                               {"expert_feed_forward_length", 24},
                                               {"expert_shared_feed_forward_length", 40},
                                               {"leading_dense_block_count", 1},
                                               {"expert_group_count", 4},
                                               {"expert_group_used_count", 2},
                                               {"expert_weights_norm", 1},
                                               {"expert_gating_func", 2}},
                                              {{"expert_weights_scale", 2.5f}});
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->experts.shared_ff, 40u);
  EXPECT_EQ(all->experts.first_layer, 1u);
  EXPECT_EQ(all->experts.routing.groups, 4u);
  EXPECT_EQ(all->experts.routing.groups_used, 2u);
  EXPECT_EQ(all->experts.routing.normalise, 1);
  EXPECT_EQ(all->experts.routing.scale, 2.5f);
  EXPECT_EQ(all->experts.routing.gating, ops::Gating::sigmoid);
  // The width of the MLP is that of an expert, where files name no other.
  const auto llama = read_keys<model::LlamaMoe>({{"expert_count", 4}, {"expert_used_count", 2}}, {});
  ASSERT_TRUE(llama) << llama.error().text();
  EXPECT_EQ(llama->experts.ff, 48u);
  EXPECT_EQ(read_keys<model::Qwen3Moe>({{"expert_count", 8}, {"expert_used_count", 9}}, {}).error().code(),
            Errc::invalid_metadata);
  EXPECT_EQ(read_keys<model::LlamaMoe>({{"expert_count", 4}, {"expert_used_count", 2}, {"expert_gating_func", 4}}, {})
                .error()
                .code(),
            Errc::unimplemented);
  const auto unturned = read_file<model::GraniteMoe>([](test::GgufWriter& w, const std::string& family) {
    w.add(family + ".feed_forward_length", 48u);
    w.add(family + ".expert_count", 4u);
    w.add(family + ".expert_used_count", 2u);
    w.add(family + ".rope.scaling.finetuned", false);
  });
  EXPECT_EQ(unturned.error().code(), Errc::unimplemented) << "heads are not rotated";
}

/// Reads a file of family F with heads of 64 and what `change` adds, for a host that gives embeddings or not.
template <class F, class Change> Result<typename F::Config> read_whole(Change change, bool given = false) {
  const std::string family(F::names[0]);
  test::GgufWriter w;
  for (const auto& [key, value] :
       {std::pair{"context_length", 2048u}, std::pair{"embedding_length", 256u}, std::pair{"block_count", 3u},
        std::pair{"attention.head_count", 4u}, std::pair{"feed_forward_length", 48u}})
    w.add(family + "." + key, value);
  constexpr bool encoder = std::is_base_of_v<model::EncoderFamily, F>;
  w.add(family + (encoder ? ".attention.layer_norm_epsilon" : ".attention.layer_norm_rms_epsilon"), 1e-5f);
  change(w, family + ".");
  w.add_f32("token_embd.weight", {256, 4}, std::vector<float>(1024, 0.5f));
  const test::ModelFile bytes(w.build());
  const auto file = model::GgufFile::open(bytes.bytes(), system_allocator());
  if (!file) return pass(file);
  model::ConfigReader meta(*file, family, {.context = 1000, .given_embeddings = given});
  typename F::Config config;
  if (auto r = model::read_config<F>(meta, config); !r) return pass(r);
  return config;
}

/// Rows of images stand on several axes, which only a family of images computes.
TEST(FamilyKeys, SectionsOfTheRotationAreOfTextAlone) {
  const auto glm = [](bool sections, bool given) {
    return read_whole<model::Glm4>(
        [&](test::GgufWriter& w, const std::string& of) {
          if (sections) w.add_array(of + "rope.dimension_sections", std::vector<std::int32_t>{8, 12, 12, 0});
        },
        given);
  };
  EXPECT_EQ(glm(false, false)->rope.style, ops::RopeStyle::interleaved);
  EXPECT_EQ(glm(true, false)->rope.style, ops::RopeStyle::neox);
  EXPECT_EQ(glm(true, false)->sections, (model::RopeSections{8, 12, 12, 0}));
  EXPECT_TRUE(glm(false, true));
  const auto refused = glm(true, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::unimplemented);
  EXPECT_EQ(
      refused.error().text(),
      "glm4.rope.dimension_sections gives rows of images positions on several axes, expected no given embeddings");
}

TEST(FamilyKeys, WithoutExpertsEveryLayerOfDeepseekLeads) {
  const auto dense = [](std::uint32_t leading, std::uint32_t shared) {
    return read_whole<model::Deepseek2>([&](test::GgufWriter& w, const std::string& of) {
      for (const auto& [key, value] :
           {std::pair{"attention.head_count_kv", 1u}, std::pair{"attention.kv_lora_rank", 16u},
            std::pair{"attention.key_length", 20u}, std::pair{"attention.value_length", 16u},
            std::pair{"attention.key_length_mla", 12u}, std::pair{"attention.value_length_mla", 8u},
            std::pair{"rope.dimension_count", 4u}, std::pair{"expert_feed_forward_length", 48u},
            std::pair{"expert_shared_count", shared}, std::pair{"leading_dense_block_count", leading}})
        w.add(of + key, value);
    });
  };
  const auto config = dense(3, 0);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->experts.count, 0u);
  EXPECT_EQ(config->experts.first_layer, 3u);
  EXPECT_EQ(dense(3, 1).error().code(), Errc::unimplemented) << "an expert that every token takes";
  const auto some = dense(1, 0);
  ASSERT_FALSE(some);
  EXPECT_EQ(some.error().text(),
            "deepseek2.leading_dense_block_count changes what the model computes, but its family does not read it; "
            "expected 3, all layers, without experts");
}

TEST(FamilyKeys, ExpertsOfAnEncoderComeEveryFewLayers) {
  const auto encoder = [](std::uint32_t period, std::uint32_t leading) {
    return read_whole<model::NomicBertMoe>([&](test::GgufWriter& w, const std::string& of) {
      for (const auto& [key, value] :
           {std::pair{"expert_count", 4u}, std::pair{"expert_used_count", 2u}, std::pair{"moe_every_n_layers", period},
            std::pair{"leading_dense_block_count", leading}})
        w.add(of + key, value);
      w.add(of + "attention.causal", false);
    });
  };
  const auto config = encoder(2, 0);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->period, 2u);
  EXPECT_EQ(config->experts.ff, 48u);
  EXPECT_EQ(encoder(1, 0).error().text(), "nomic-bert-moe.moe_every_n_layers is 1, expected 2 or more");
  EXPECT_EQ(encoder(2, 1).error().text(), "nomic-bert-moe.leading_dense_block_count is 1, expected 0");
}

/// Only the number of layers tells the largest models, whose scores are scaled by the width over the heads.
TEST(FamilyKeys, TheLargestGemmaScalesScoresByTheWidthOfAHead) {
  const auto scale = [](auto family, std::uint32_t layers) {
    using F = typename decltype(family)::type;
    const auto config = read_file<F>(
        [&](test::GgufWriter& w, const std::string& name) {
          w.add(name + ".feed_forward_length", 48u);
          w.add(name + ".attention.key_length", 16u);
          w.add(name + ".attention.sliding_window", 512u);
        },
        nullptr, layers);
    EXPECT_TRUE(config) << config.error().text();
    return config ? config->attention_scale : 0.0f;
  };
  EXPECT_EQ(scale(std::type_identity<model::Gemma2>{}, 46), 0.125f);
  EXPECT_EQ(scale(std::type_identity<model::Gemma2>{}, 42), 0.25f);
  EXPECT_EQ(scale(std::type_identity<model::Gemma3>{}, 62), 0.125f);
  EXPECT_EQ(scale(std::type_identity<model::Gemma3>{}, 48), 0.25f);
}

TEST(FamilyKeys, PhiTakesTheTypeOfItsFactors) {
  EXPECT_TRUE(read_keys<model::Phi3>({}, {}, "longrope"));
  const auto scaled = read_keys<model::Phi3>({}, {{"rope.scaling.factor", 4.0f}}, "longrope");
  ASSERT_FALSE(scaled);
  EXPECT_EQ(scaled.error().text(), "phi3.rope.scaling.factor is not 1, as longrope expects");
}

TEST(FamilyKeys, PhiNeedsTheFactorsOfItsContext) {
  const auto refused = [](const char* held, std::uint32_t original) {
    const auto config = read_file<model::Phi3>([&](test::GgufWriter& w, const std::string& name) {
      w.add(name + ".feed_forward_length", 48u);
      w.add(name + ".rope.scaling.original_context_length", original);
      w.add_f32(held, {4}, std::vector<float>(4, 1.0f));
    });
    return config ? std::string() : std::string(config.error().text());
  };
  EXPECT_EQ(refused("rope_factors_long.weight", 1), "");
  EXPECT_EQ(refused("rope_factors_short.weight", 1u << 20), "");
  EXPECT_EQ(refused("rope_factors_short.weight", 1),
            "the model has no tensor rope_factors_long.weight, but rope_factors_short.weight");
  EXPECT_EQ(refused("rope_factors_long.weight", 1u << 20),
            "the model has no tensor rope_factors_short.weight, but rope_factors_long.weight");
}

TEST(FamilyKeys, ATemperatureOfZeroIsNone) {
  const auto opened_by = [](std::optional<float> temperature) {
    test::GgufWriter w;
    if (temperature) w.add("mistral3.attention.temperature_scale", *temperature);
    const test::ModelFile bytes(w.build());
    const auto file = model::GgufFile::open(bytes.bytes(), system_allocator());
    EXPECT_TRUE(file);
    const model::ConfigReader meta(*file, "mistral3");
    const bool tempered = model::opens<model::TemperedMistral3>(meta, true);
    EXPECT_TRUE(model::opens<model::Mistral3>(meta, false));
    return tempered;
  };
  EXPECT_FALSE(opened_by({}));
  EXPECT_FALSE(opened_by(0.0f));
  EXPECT_TRUE(opened_by(0.1f));
  EXPECT_TRUE(judge<model::Mistral3>("attention.temperature_scale", 0.0f));
  refused<model::Mistral3>("attention.temperature_scale", 0.1f);
}

TEST(FamilyKeys, TheMultiplierOfYarnDividesTheMagnitude) {
  const auto magnitude = [](std::optional<float> multiplier, std::string_view type) {
    const auto config = read_file<model::Mistral3>([&](test::GgufWriter& w, const std::string& name) {
      w.add(name + ".feed_forward_length", 48u);
      w.add(name + ".rope.scaling.type", std::string(type));
      w.add(name + ".rope.scaling.factor", 4.0f);
      if (multiplier) w.add(name + ".rope.scaling.yarn_log_multiplier", *multiplier);
    });
    EXPECT_TRUE(config) << config.error().text();
    return config ? config->rope.magnitude : 0.0f;
  };
  EXPECT_EQ(magnitude({}, "yarn"), 1.0f);
  EXPECT_EQ(magnitude(0.0f, "yarn"), 1.0f);
  EXPECT_FLOAT_EQ(magnitude(1.0f, "yarn"), static_cast<float>(1.0 / (1.0 + 0.1 * std::log(4.0))));
  EXPECT_EQ(magnitude(1.0f, "linear"), 1.0f);
}

/// A family that reads its sizes itself.
struct Frugal : model::Llama {
  using Config = model::Config;
  static constexpr std::array<std::string_view, 1> names{"frugal"};
  static constexpr std::array<model::NeutralKey, 0> neutral{};
  static void read(model::ConfigReader& meta, Config& c) noexcept {
    c.context = meta.count("context_length", 1u << 28, 0);
  }
  static constexpr std::array<Config, 1> canonical() noexcept { return {}; }
};

TEST(FamilyKeys, WhatTheHostChoosesIsSetForEveryFamily) {
  const auto read = [](std::uint32_t context, const model::HostChoice& host) -> Result<model::Config> {
    test::GgufWriter w;
    if (context != 0) w.add("frugal.context_length", context);
    const test::ModelFile bytes(w.build());
    const auto file = model::GgufFile::open(bytes.bytes(), system_allocator());
    if (!file) return pass(file);
    model::ConfigReader meta(*file, "frugal", host);
    model::Config config;
    if (auto r = model::read_config<Frugal>(meta, config); !r) return pass(r);
    return config;
  };
  const auto positions = [&](std::uint32_t context, const model::HostChoice& host) {
    const auto config = read(context, host);
    return config ? config->positions : 0;
  };
  EXPECT_EQ(positions(64, {}), 64u);
  EXPECT_EQ(positions(1u << 20, {}), 4096u);
  EXPECT_EQ(positions(64, {.context = 7}), 7u);
  EXPECT_EQ(positions(0, {.context = 7}), 7u);
  const auto nothing = read(0, {});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().text(), "the model's family reads no number of positions");
  const auto config = read(64, {.kv_dtype = DType::f32});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->kv_dtype, DType::f32);
}

/// What a family lacks is told by the concept's part.
struct Nameless : model::Llama {
  static constexpr std::array<std::string_view, 0> names{};
};
struct Silent : model::Llama {
  static void read(int) noexcept {}
};
static_assert(model::Family<model::Llama> && model::Family<model::Granite>);
struct Unchecked : model::Llama {
  static constexpr std::array<Config, 0> canonical() noexcept { return {}; }
};
static_assert(!model::NamesArchitectures<Nameless> && !model::ReadsConfig<Silent> &&
              !model::HasCanonicalConfigs<Unchecked>);

}  // namespace
}  // namespace family_keys_test
