// SPDX-License-Identifier: Apache-2.0
// tests/unit/grammar_engine.cpp: answers of engines whose requests have a grammar.
#include <zrt/text/grammar/json_schema.hpp>
#include <zrt/text/grammar/matcher.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <string>
#include <support/engines.hpp>

namespace grammar_engine_test {
namespace {

using namespace zrt;
namespace grammar = zrt::text::grammar;

constexpr std::string_view kModel = ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf";
constexpr std::string_view kSchema =
    R"({"type":"object","properties":{"name":{"type":"string","maxLength":12},"age":{"enum":[1,22,333]},"kind":{"type":["boolean","null"]}},"required":["name","age"]})";

Request request_of(const grammar::TokenGrammar& bound, std::uint64_t seed) {
  Request request;
  request.prompt = "ROMEO:\n";
  request.max_tokens = 400;
  request.sampling.temperature = 1.0f;
  request.sampling.seed = seed;
  request.sampling.top_k = seed % 2 == 0 ? 0 : 40;
  request.grammar = &bound;
  return request;
}

}  // namespace

TEST(GrammarEngine, EachAnswerMatchesAloneAndBesideOthers) {
  EngineOptions options;
  options.slots = 4;
  options.context = 512;
  auto engine = test::open_engine(test::On::cpu, kModel, options);
  ASSERT_TRUE(engine) << engine.error().text();
  const auto read = grammar::read_json_schema(kSchema);
  ASSERT_TRUE(read) << read.error().text();
  const auto trie = grammar::TokenTrie::make(*(*engine)->tokenizer());
  ASSERT_TRUE(trie);
  const grammar::TokenGrammar bound{&*read, &*trie};
  std::map<RequestId, std::string> together;
  std::map<RequestId, std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    Request request = request_of(bound, seed);
    if (seed % 5 == 4) request.grammar = nullptr;
    const auto id = (*engine)->submit(request);
    ASSERT_TRUE(id) << id.error().text();
    seeds[*id] = seed;
  }
  std::map<RequestId, FinishReason> finished;
  for (std::size_t left = 1; left != 0;) {
    const auto stepped = (*engine)->step([&](RequestId id, const Token& token) {
      together[id] += token.text;
      if (token.finish != FinishReason::none) finished[id] = token.finish;
      return true;
    });
    ASSERT_TRUE(stepped) << stepped.error().text();
    left = *stepped;
  }
  for (const auto& [id, seed] : seeds) {
    Request request = request_of(bound, seed);
    if (seed % 5 == 4) request.grammar = nullptr;
    std::string alone;
    const auto done = (*engine)->generate(request, [&](const Token& token) { return alone += token.text, true; });
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(together[id], alone) << seed;
    if (request.grammar == nullptr) continue;
    EXPECT_EQ(finished[id], FinishReason::stop_token) << alone;
    const auto json = nlohmann::json::parse(alone, nullptr, false);
    ASSERT_TRUE(json.is_object()) << alone;
    EXPECT_TRUE(json["name"].is_string()) << alone;
    EXPECT_TRUE(json["age"] == 1 || json["age"] == 22 || json["age"] == 333) << alone;
  }
}

// A stop string within a string of the answer would leave half of a JSON text.
TEST(GrammarEngine, StopStringsAreOffInAnAnswerThatMustMatch) {
  auto engine = test::open_engine(test::On::cpu, kModel);
  ASSERT_TRUE(engine) << engine.error().text();
  const auto read = grammar::read_json_schema(R"({"const":{"a":"x,y"}})");
  ASSERT_TRUE(read) << read.error().text();
  const auto trie = grammar::TokenTrie::make(*(*engine)->tokenizer());
  ASSERT_TRUE(trie);
  const grammar::TokenGrammar bound{&*read, &*trie};
  Request request = request_of(bound, 1);
  const auto stops = std::to_array<std::string_view>({",", "x"});
  request.stop_strings = stops;
  std::string said;
  FinishReason finish = FinishReason::none;
  const auto done =
      (*engine)->generate(request, [&](const Token& token) { return said += token.text, finish = token.finish, true; });
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(said, R"({"a": "x,y"})");
  EXPECT_EQ(finish, FinishReason::stop_token);
}

TEST(GrammarEngine, RefusesAGrammarOfAnotherVocabulary) {
  auto engine = test::open_engine(test::On::reference, kModel);
  ASSERT_TRUE(engine) << engine.error().text();
  const auto read = grammar::read_gbnf("root ::= \"a\"");
  const grammar::TokenGrammar none{&*read, nullptr};
  const auto submitted = (*engine)->submit(request_of(none, 0));
  ASSERT_FALSE(submitted);
  EXPECT_EQ(submitted.error().code(), Errc::invalid_argument);
}

}  // namespace grammar_engine_test
