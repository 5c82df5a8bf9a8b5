// SPDX-License-Identifier: Apache-2.0
// tests/unit/grammar_limits.cpp: what grammars of many places cost, and where they end.
#include <zrt/text/grammar/json_schema.hpp>
#include <zrt/text/grammar/matcher.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <random>
#include <string>
#include <support/byte_vocabulary.hpp>
#include <vector>

namespace grammar_limits_test {
namespace {

using namespace zrt;
using namespace zrt::text::grammar;

/// About 2,048 tokens: bytes, and texts of 1..8 letters and signs.
const test::Vocabulary& small_vocabulary() {
  static const test::Vocabulary kVocabulary([] {
    std::mt19937 random(3);
    constexpr std::string_view letters = "etaoinshr  01p{}[]\":,\n";
    std::vector<std::string> pieces;
    while (pieces.size() < 1789) {
      std::string piece(1 + random() % 8, ' ');
      for (char& c : piece) c = letters[random() % letters.size()];
      pieces.push_back(piece);
    }
    return pieces;
  }());
  return kVocabulary;
}

/// Processor time of this thread in milliseconds: other programs take none of it.
double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

template <class Part> std::string list_of(int count, Part part) {
  std::string all;
  for (int i = 0; i < count; ++i) all += (i == 0 ? "" : ",") + part(i);
  return all;
}

/// Strings of which each is a text of all, so that a text is in all of them at once.
std::string strings_within_each_other() {
  return "{\"anyOf\":[" +
         list_of(200,
                 [](int i) {
                   return "{\"type\":\"string\",\"minLength\":" + std::to_string(500 - i) + ",\"maxLength\":500}";
                 }) +
         "]}";
}

}  // namespace

// Two hundred counted strings at once: 90 to 550 ms a mask where each place was looked for among all of them.
TEST(GrammarLimits, AMaskOfManyPlacesIsSoonDone) {
  const auto grammar = read_json_schema(strings_within_each_other());
  ASSERT_TRUE(grammar) << grammar.error().text();
  auto m = Matcher::make(*grammar, *small_vocabulary().trie);
  ASSERT_TRUE(m) << m.error().text();
  double most = 0;
  int masks = 0;
  for (std::string text = "\""; masks < 12; ++masks, text = "a") {
    ASSERT_TRUE(m->take(text));
    const double begin = now();
    const auto mask = m->mask();
    most = std::max(most, now() - begin);
    ASSERT_TRUE(mask) << mask.error().text();
  }
  std::cout << "masks: " << masks << ", most " << most << " ms\n";
#ifdef __OPTIMIZE__
  EXPECT_LT(most, 30.0);
#endif
}

TEST(GrammarLimits, TheWorkForAMaskIsBounded) {
  const auto grammar = read_json_schema(strings_within_each_other());
  ASSERT_TRUE(grammar) << grammar.error().text();
  auto m = Matcher::make(*grammar, *small_vocabulary().trie, {.work = 10'000});
  ASSERT_TRUE(m) << m.error().text();
  const auto mask = m->mask();
  ASSERT_FALSE(mask);
  EXPECT_EQ(mask.error().code(), Errc::limit_exceeded);
  EXPECT_NE(mask.error().text().find("places to find the tokens that may come next"), std::string_view::npos);
  const auto narrow = Matcher::make(*grammar, *small_vocabulary().trie, {.places = 100});
  ASSERT_FALSE(narrow);
  EXPECT_NE(narrow.error().text().find("more than 100 places"), std::string_view::npos);
}

// As many values, properties and alternatives as the documentation says.
TEST(GrammarLimits, WideSchemasAreRead) {
  const std::string wide[] = {
      "{\"enum\":[" + list_of(5000, [](int i) { return "\"v" + std::to_string(i * 7919 % 100'003) + "\""; }) + "]}",
      "{\"enum\":[" +
          list_of(5000,
                  [](int i) {
                    const int c = 0x4e00 + i;
                    return std::string{'"', static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
                                       static_cast<char>(0x80 | (c & 63)), '"'};
                  }) +
          "]}",
      "{\"type\":\"object\",\"properties\":{" +
          list_of(3000, [](int i) { return "\"p" + std::to_string(i) + "\":{\"type\":\"integer\"}"; }) + "}}",
      "{\"anyOf\":[" + list_of(1600, [](int i) {
        return "{\"type\":\"object\",\"properties\":{\"p" + std::to_string(i) + "\":{\"type\":\"integer\"}}}";
      }) + "]}"};
  for (const std::string& schema : wide) {
    const auto grammar = read_json_schema(schema);
    ASSERT_TRUE(grammar) << grammar.error().text();
    auto m = Matcher::make(*grammar, *small_vocabulary().trie);
    ASSERT_TRUE(m) << m.error().text();
    for (const char c : std::string_view(schema[2] == 'e' ? "\"" : "{\"p3")) {
      const auto mask = m->mask();
      ASSERT_TRUE(mask) << mask.error().text();
      ASSERT_TRUE(m->take({&c, 1}));
    }
    const auto mask = m->mask();
    ASSERT_TRUE(mask) << mask.error().text();
  }
}

}  // namespace grammar_limits_test
