// SPDX-License-Identifier: Apache-2.0
// tests/unit/own_keys.cpp: what a host's families add: metadata keys that zrt leaves to them, and pre-tokenizers.
#include <zrt/engine/model_loader.hpp>
#include <zrt/models.hpp>

#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <families/granite.hpp>
#include <families/olmo2.hpp>
#include <string>

namespace own_keys_test {
namespace {

using namespace zrt;

template <class Change> test::ModelFile tiny_granite(Change change) {
  test::GgufWriter w;
  w.add("general.architecture", "granite");
  for (const auto& [key, value] :
       {std::pair{"context_length", 64u}, std::pair{"embedding_length", 32u}, std::pair{"block_count", 2u},
        std::pair{"feed_forward_length", 48u}, std::pair{"attention.head_count", 4u}})
    w.add("granite." + std::string(key), value);
  change(w);
  w.add_f32("token_embd.weight", {32, 4}, std::vector<float>(128, 0.5f));
  return test::ModelFile(w.build());
}

/// What `read` makes of a file.
template <class Change, class Read> auto of(Change change, Read read) {
  const test::ModelFile bytes = tiny_granite(change);
  const auto file = model::GgufFile::open(bytes.bytes(), system_allocator());
  EXPECT_TRUE(file) << file.error().text();
  return read(*file);
}

TEST(OwnKeys, AKeyOfTheFamilyIsLeftToIt) {
  const auto change = [](test::GgufWriter& w) { w.add("granite.logit_scale", 4.0f); };
  const auto judge = [&](Span<const std::string_view> own) {
    return of(change,
              [&](const model::GgufFile& file) { return model::expect_neutral_keys(file, "granite", 8, 64, own); });
  };
  const auto refused = judge({});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("granite.logit_scale"), std::string_view::npos) << refused.error().text();
  EXPECT_TRUE(judge(model::kOwnKeys<host::Granite>));
  EXPECT_FALSE(judge(model::kOwnKeys<host::Olmo2>)) << "a family without keys of its own leaves all to zrt";
}

TEST(OwnKeys, ExpertsAndTheEpsilonAreTheFamilysWhereItSaysSo) {
  const auto change = [](test::GgufWriter& w) { w.add("granite.expert_count", 4u); };
  const auto read = [&](Span<const std::string_view> own) {
    return of(change, [&](const model::GgufFile& file) { return model::read_config(file, own); });
  };
  EXPECT_EQ(read({}).error().code(), Errc::unimplemented);
  constexpr std::array<std::string_view, 1> experts{"expert_count"};
  EXPECT_EQ(read(experts).error().code(), Errc::missing_metadata);  // the epsilon
  constexpr std::array<std::string_view, 2> both{"expert_count", "attention.layer_norm_rms_epsilon"};
  const auto config = read(both);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->vocabulary, 4u);
}

TEST(OwnKeys, TheFamilyReadsThemIntoItsOwnConfig) {
  const auto change = [](test::GgufWriter& w) {
    w.add("granite.residual_scale", 0.25f);
    w.add("granite.attention.scale", 0.5f);
  };
  host::Granite::Config config;
  config.key_dim = 16;
  const auto read = [&](const model::GgufFile& file) {
    return host::Granite::read_keys(model::ConfigReader(file, "granite"), config);
  };
  ASSERT_TRUE(of(change, read));
  EXPECT_EQ(config.residual_scale, 0.25f);
  EXPECT_EQ(config.attention_scale, 0.5f);
  EXPECT_EQ(config.embedding_scale, 1.0f);
  const auto bad = of([](test::GgufWriter& w) { w.add("granite.logit_scale", "four"); }, read);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), Errc::invalid_metadata);
}

/// Two models that differ in nothing but a key of the family are two models to snapshots.
TEST(OwnKeys, TheirValuesTellModelsApart) {
  const auto hash = [](float scale, Span<const std::string_view> own) {
    return of([&](test::GgufWriter& w) { w.add("granite.logit_scale", scale); },
              [&](const model::GgufFile& file) { return zrt::detail::hash_values(file, "granite", own); });
  };
  const auto keys = model::kOwnKeys<host::Granite>;
  EXPECT_EQ(hash(4.0f, {}), 0u);
  EXPECT_NE(hash(4.0f, keys), 0u);
  EXPECT_EQ(hash(4.0f, keys), hash(4.0f, keys));
  EXPECT_NE(hash(4.0f, keys), hash(2.0f, keys));
}

TEST(OwnPreTokenizers, StandBesideThoseOfZrt) {
  struct Families {
    using PreTokenizers = text::PreTokenizerList<host::Dbrx>;
  };
  const auto own = kOwnPreTokenizers<Families>;
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(text::find_pre_tokenizer("dbrx"), nullptr);
  EXPECT_EQ(text::find_pre_tokenizer("dbrx", own), own.data());
  EXPECT_EQ(text::find_pre_tokenizer("gpt-2", own), text::find_pre_tokenizer("gpt-2"));
  EXPECT_TRUE(kOwnPreTokenizers<AllFamilies>.empty());

  constexpr std::array<std::string_view, 6> tokens{"1", "2", "3", "4", "12", "123"};
  constexpr std::array<std::string_view, 2> merges{"1 2", "12 3"};
  text::VocabularySpec spec{.model = "gpt2", .pre = "dbrx", .tokens = tokens, .merges = merges};
  EXPECT_EQ(text::Tokenizer::make(spec).error().code(), Errc::unsupported_tokenizer);
  const auto tokenizer = text::Tokenizer::make(spec, system_allocator(), own);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  const auto ids = tokenizer->encode("12341");
  ASSERT_TRUE(ids);
  EXPECT_EQ(std::vector<std::int32_t>(ids->begin(), ids->end()), (std::vector<std::int32_t>{5, 3, 0}));
}

/// A name that zrt has, or that stands twice in the host's list, is refused when the engine compiles.
struct Taken {
  static constexpr std::array<std::string_view, 1> names{"gpt-2"};
  static constexpr text::pre::Traits traits = host::Dbrx::traits;
  using Stages = host::Dbrx::Stages;
};
static_assert(text::detail::names_are_unique(text::kPreTokenizersOf<text::PreTokenizerList<host::Dbrx>>, false));
static_assert(!text::detail::names_are_unique(text::kPreTokenizersOf<text::PreTokenizerList<Taken>>, false));
static_assert(!text::detail::names_are_unique(text::kPreTokenizersOf<text::PreTokenizerList<host::Dbrx, host::Dbrx>>,
                                              false));

}  // namespace
}  // namespace own_keys_test
