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
  const auto first = cache.of_schema(strings(3));
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(*cache.of_schema(strings(3)), *first);
  EXPECT_EQ(cache.size(), 1u);
}

// A grammar whose first mask is beyond the bound would end each answer after it has begun.
TEST(GrammarCache, WhatIsTooWideAtItsBeginningIsRefused) {
  GrammarCache cache(trie_of_texts());
  const auto wide = cache.of_schema(strings(1500));
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().code(), zrt::Errc::limit_exceeded);
  EXPECT_NE(wide.error().text().find("places"), std::string_view::npos) << wide.error().text();
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace grammar_cache_test
