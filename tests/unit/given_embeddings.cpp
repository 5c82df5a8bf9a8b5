// SPDX-License-Identifier: Apache-2.0
// tests/unit/given_embeddings.cpp: rows of given embeddings in place of tokens: a token's own row gives the token's bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <data/models/tiny_models.hpp>
#include <map>
#include <support/engines.hpp>
#include <vector>

namespace given_embeddings_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

class GivenEmbeddings : public testing::TestWithParam<std::string_view> {
 protected:
  GivenEmbeddings() {
    for (const test::TinySpec& spec : test::kTinyFamilies)
      if (spec.name == GetParam()) spec_ = spec;
    file_ = test::tiny_model(spec_);
  }
  [[nodiscard]] std::unique_ptr<HostEngine> open(On on, std::uint32_t slots = 1, bool given = true) const {
    EngineOptions options;
    options.slots = slots;
    options.chunk = 16;
    options.given_embeddings = given;
    auto engine = test::open_engine(on, file_.bytes(), options);
    EXPECT_TRUE(engine) << engine.error().text();
    return engine ? std::move(*engine) : nullptr;
  }
  /// The rows of the model's own table for tokens first..last - 1, as they enter its first layer.
  [[nodiscard]] std::vector<float> rows_of(std::span<const std::int32_t> tokens, std::size_t first,
                                           std::size_t last) const {
    const auto gguf = model::GgufFile::open(file_.bytes());
    EXPECT_TRUE(gguf);
    const model::GgufTensor* table = gguf->find_tensor("token_embd.weight");
    const auto* data = reinterpret_cast<const float*>(gguf->data(*table).data());
    const float scale = spec_.family.starts_with("gemma") ? std::sqrt(static_cast<float>(spec_.width)) : 1.0f;
    std::vector<float> rows;
    for (std::size_t i = first; i < last; ++i)
      for (std::uint32_t d = 0; d < spec_.width; ++d)
        rows.push_back(data[static_cast<std::size_t>(tokens[i]) * spec_.width + d] * scale);
    return rows;
  }
  static Request request(std::span<const std::int32_t> tokens, std::span<const EmbeddingSpan> embeddings = {}) {
    Request r;
    r.tokens = tokens;
    r.embeddings = embeddings;
    r.max_tokens = 6;
    r.ignore_eos = true;
    r.log_probabilities = 64;
    return r;
  }

  test::TinySpec spec_;
  test::ModelFile file_;
};

/// Tokens and the bits of all their log-probabilities, by request.
std::map<RequestId, std::vector<std::uint32_t>> run(HostEngine& engine) {
  std::map<RequestId, std::vector<std::uint32_t>> heard;
  for (std::size_t left = 1; left != 0;) {
    const auto r = engine.step([&](RequestId id, const Token& token) {
      EXPECT_NE(token.finish, FinishReason::failed) << token.error->text();
      if (token.id != kNoToken) heard[id].push_back(static_cast<std::uint32_t>(token.id));
      for (const TokenProbability& best : token.best)
        heard[id].push_back(std::bit_cast<std::uint32_t>(best.log_probability));
      return true;
    });
    EXPECT_TRUE(r) << r.error().text();
    left = r ? *r : 0;
  }
  return heard;
}

TEST_P(GivenEmbeddings, TheRowsOfTokensGiveTheBitsOfTheTokens) {
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 45, 3), other = test::tiny_prompt(64, 20, 4);
  for (const On on : {On::cpu, On::reference}) {
    const auto plain = open(on, 1, false);
    const auto id = plain->submit(request(tokens));
    ASSERT_TRUE(id);
    const auto expected = run(*plain)[*id];
    ASSERT_EQ(expected.size(), 6u * 65);

    // Over all of the prompt, over the borders of chunks, and not at all; the tokens there are read by nobody.
    const std::vector<std::vector<std::pair<std::size_t, std::size_t>>> cases{
        {{0, 45}}, {{3, 20}, {20, 21}, {40, 45}}, {{44, 45}}, {}};
    const auto engine = open(on, 3);
    std::vector<RequestId> ids;
    for (const auto& ranges : cases) {
      std::vector<std::int32_t> placed = tokens;
      std::vector<std::vector<float>> rows;
      for (const auto& [first, last] : ranges) {
        rows.push_back(rows_of(tokens, first, last));
        for (std::size_t i = first; i < last; ++i) placed[i] = 63 - tokens[i];
      }
      std::vector<EmbeddingSpan> spans;
      for (std::size_t i = 0; i < ranges.size(); ++i)
        spans.push_back({static_cast<std::uint32_t>(ranges[i].first), rows[i]});
      const auto one = engine->submit(request(placed, spans));
      ASSERT_TRUE(one) << one.error().text();
      ids.push_back(*one);
      ASSERT_TRUE(engine->submit(request(other))) << "tokens beside them";
    }
    auto heard = run(*engine);
    for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(heard[ids[i]], expected) << i;
  }
}

TEST_P(GivenEmbeddings, OtherRowsGiveOtherBits) {
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 20, 3);
  std::vector<float> rows = rows_of(tokens, 5, 7);
  const auto engine = open(On::cpu, 2);
  const std::array one{EmbeddingSpan{5, rows}};
  const auto first = engine->submit(request(tokens, one));
  rows[spec_.width + 3] += 0.25f;
  const auto second = engine->submit(request(tokens, one));
  ASSERT_TRUE(first && second);
  auto heard = run(*engine);
  EXPECT_NE(heard[*first], heard[*second]);
}

INSTANTIATE_TEST_SUITE_P(Unit, GivenEmbeddings, testing::Values("llama", "gemma2", "mamba", "qwen35", "qwen3moe"),
                         [](const auto& param) { return std::string(param.param); });

TEST(GivenEmbeddingsRefused, WhatDoesNotFitIsRefusedByName) {
  const test::ModelFile file = test::tiny_model({});
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 10, 3);
  const std::vector<float> rows(4 * 32);
  const auto code = [&](HostEngine& engine, std::initializer_list<EmbeddingSpan> spans, std::string_view text,
                        bool as_tokens = true) {
    Request r;
    if (as_tokens) r.tokens = tokens;
    const std::vector<EmbeddingSpan> list(spans);
    r.embeddings = list;
    const auto id = engine.submit(r);
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().code(), Errc::invalid_argument);
    EXPECT_NE(id.error().text().find(text), std::string_view::npos) << id.error().text();
  };
  EngineOptions options;
  const auto closed = test::open_engine(On::cpu, file.bytes(), options);
  ASSERT_TRUE(closed);
  code(**closed, {{0, rows}}, "EngineOptions::given_embeddings");
  options.given_embeddings = true;
  const auto engine = test::open_engine(On::cpu, file.bytes(), options);
  ASSERT_TRUE(engine);
  code(**engine, {{0, std::span(rows).first(33)}}, "span 0 of embeddings has 33 elements, expected rows of 32");
  code(**engine, {{0, {}}}, "span 0 of embeddings has 0 elements");
  code(**engine, {{7, rows}}, "span 0 of embeddings has 4 rows from position 7, expected positions 0..9");
  code(**engine, {{0, rows}, {3, rows}}, "span 1 of embeddings has 4 rows from position 3, expected positions 4..9");
  code(**engine, {{~0u, rows}}, "from position 4294967295");

  // A snapshot holds no rows that are still to be read.
  options.chunk = 16;
  const auto small = test::open_engine(On::cpu, file.bytes(), options);
  ASSERT_TRUE(small);
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 40, 3);
  const std::array<EmbeddingSpan, 1> late{{{20, rows}}};
  Request r;
  r.tokens = prompt;
  r.embeddings = late;
  const auto id = (*small)->submit(r);
  ASSERT_TRUE(id) << id.error().text();
  const auto hear = [](RequestId, const Token&) { return true; };
  ASSERT_TRUE((*small)->step(hear));
  EXPECT_EQ((*small)->save(*id).error().code(), Errc::invalid_state);
  ASSERT_TRUE((*small)->step(hear));
  EXPECT_TRUE((*small)->save(*id));
}

}  // namespace
}  // namespace given_embeddings_test
