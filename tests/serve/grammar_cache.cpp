// SPDX-License-Identifier: Apache-2.0
// tests/serve/grammar_cache.cpp: schemas are refused before an answer begins, and read once.
#include <gtest/gtest.h>

#include <grammar_cache.hpp>
#include <string>
#include <support/byte_vocabulary.hpp>
#include <vector>

namespace grammar_cache_test {
namespace {

using program::server::GrammarCache;

std::string strings(int count) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += (i == 0 ? "" : ",") + ("{\"type\":\"string\",\"minLength\":" + std::to_string(i % 9) + ",\"maxLength\":20}");
  return "{\"anyOf\":[" + all + "]}";
}

zrt::text::grammar::TokenTrie trie_of_texts() {
  std::vector<std::string> texts;
  for (char a = 'a'; a <= 'z'; ++a) texts.push_back(std::string("\"") + a + "bcdefgh");
  zrt::test::Vocabulary vocabulary(texts);
  return std::move(*vocabulary.trie);
}

}  // namespace

TEST(GrammarCache, ASchemaIsReadOnce) {
  GrammarCache cache(trie_of_texts());
  const auto first = cache.of_schema(strings(3), "a");
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(*cache.of_schema(strings(3), "a"), *first);
  EXPECT_EQ(cache.size(), 1u);
}

// The time of a request would tell one tenant what another one asks.
TEST(GrammarCache, EachOwnerReadsItsOwn) {
  GrammarCache cache(trie_of_texts());
  const auto first = cache.of_schema(strings(3), "a");
  ASSERT_TRUE(first);
  const auto other = cache.of_schema(strings(3), "b");
  ASSERT_TRUE(other);
  EXPECT_NE(*other, *first);
  // What one asks for does not make another's be forgotten.
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(cache.of_schema("{\"const\":" + std::to_string(i) + "}", "b"));
  EXPECT_EQ(*cache.of_schema(strings(3), "a"), *first);
  EXPECT_NE(*cache.of_schema(strings(3), "b"), *other);
  EXPECT_EQ(cache.size(), 1 + GrammarCache::kMost);
}

TEST(GrammarCache, OwnersAndStatesAreBounded) {
  GrammarCache cache(trie_of_texts());
  const auto large = [](int i) {
    return "{\"type\":\"array\",\"items\":{\"enum\":[" + std::to_string(i) + "]},\"maxItems\":1000,\"minItems\":900}";
  };
  std::size_t states = 0;
  for (int i = 0; i < 64; ++i) {
    const auto made = cache.of_schema(large(100000 + i), "a");
    ASSERT_TRUE(made) << made.error().text();
    states += (*made)->grammar.states();
  }
  ASSERT_GT(states, GrammarCache::kMostStates);
  EXPECT_LE(cache.size(), 64 * GrammarCache::kMostStates / states);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(cache.of_schema("true", std::to_string(i)));
  EXPECT_EQ(cache.size(), GrammarCache::kMostOwners);
}

// A grammar whose first mask is beyond the bound would end each answer after it has begun.
TEST(GrammarCache, WhatIsTooWideAtItsBeginningIsRefused) {
  GrammarCache cache(trie_of_texts());
  const auto wide = cache.of_schema(strings(1500), "a");
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().code(), zrt::Errc::limit_exceeded);
  EXPECT_NE(wide.error().text().find("places"), std::string_view::npos) << wide.error().text();
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace grammar_cache_test
