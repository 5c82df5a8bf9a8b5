// SPDX-License-Identifier: Apache-2.0
// tests/unit/grammar_numbers.cpp: numbers of JSON schemas against their bounds, digit by digit.
#include <zrt/text/grammar/json_schema.hpp>
#include <zrt/text/grammar/matcher.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <support/schema_texts.hpp>
#include <vector>

namespace grammar_numbers_test {
namespace {

using namespace zrt;
using namespace zrt::text::grammar;
using test::matches;
using test::schema_allows;
using test::schema_fault;

/// A number of up to 63 bits, each length as likely as any other.
std::int64_t any_number(std::mt19937_64& random) {
  const auto size = static_cast<std::int64_t>(random() >> (1 + random() % 63));
  return random() % 2 == 0 ? size : -size;
}
std::string bounds(std::string_view type, std::int64_t low, std::int64_t high, bool exclusive) {
  const std::string least = exclusive ? "exclusiveMinimum" : "minimum",
                    most = exclusive ? "exclusiveMaximum" : "maximum";
  return "{\"type\":\"" + std::string(type) + "\",\"" + least + "\":" + std::to_string(low) + ",\"" + most +
         "\":" + std::to_string(high) + "}";
}

}  // namespace

TEST(GrammarNumbers, IntegersAreThoseBetweenTheirBounds) {
  std::mt19937_64 random(11);
  std::size_t inside = 0, outside = 0;
  for (int round = 0; round < 400; ++round) {
    std::int64_t low = any_number(random), high = any_number(random);
    if (low > high) std::swap(low, high);
    const bool exclusive = random() % 2 == 0;
    if (exclusive && high - 1 <= low) continue;
    const auto grammar = read_json_schema(bounds("integer", low, high, exclusive));
    ASSERT_TRUE(grammar) << grammar.error().text();
    std::vector<std::int64_t> numbers{0, 1, -1, 9, 10, 99, 100, -9, -10, INT64_MAX, INT64_MIN};
    for (const std::int64_t edge : {low, high})
      for (std::int64_t by = -12; by <= 12; ++by)
        if (edge < INT64_MAX - 12 && edge > INT64_MIN + 12) numbers.push_back(edge + by);
    for (int i = 0; i < 20; ++i) numbers.push_back(any_number(random));
    for (const std::int64_t n : numbers) {
      const bool is_inside = exclusive ? low < n && n < high : low <= n && n <= high;
      (is_inside ? inside : outside) += 1;
      ASSERT_EQ(matches(*grammar, std::to_string(n)), is_inside) << n << " of " << low << ".." << high << exclusive;
    }
    for (const char* other : {"-0", "00", "01", "-01", "+1", "1.0", "1e1", "", "-"})
      ASSERT_FALSE(matches(*grammar, other)) << other;
  }
  EXPECT_GT(inside, 5000u);
  EXPECT_GT(outside, 5000u);
}

// Each token of several digits, at each beginning of each number.
TEST(GrammarNumbers, MasksOfBoundsAreExact) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 1000; i += 7) pieces.push_back(std::to_string(i));
  for (const char* more : {"-1", "-12", "-99", "-100", "00", "07", "-0", "1-", "0.", "10 "}) pieces.push_back(more);
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  const test::Vocabulary v(pieces);
  std::mt19937_64 random(5);
  for (int round = 0; round < 30; ++round) {
    auto low = static_cast<std::int64_t>(random() % 4000) - 2000,
         high = static_cast<std::int64_t>(random() % 4000) - 2000;
    if (low > high) std::swap(low, high);
    std::vector<std::string> texts;
    for (std::int64_t n = low; n <= high; ++n) texts.push_back(std::to_string(n));
    std::sort(texts.begin(), texts.end());
    const auto begins = [&](const std::string& text) {
      const auto found = std::lower_bound(texts.begin(), texts.end(), text);
      return found != texts.end() && found->starts_with(text);
    };
    const auto grammar = read_json_schema(bounds("integer", low, high, false));
    ASSERT_TRUE(grammar) << grammar.error().text();
    for (int walk = 0; walk < 10; ++walk) {
      auto m = Matcher::make(*grammar, *v.trie);
      ASSERT_TRUE(m);
      std::string said;
      for (const char c : texts[random() % texts.size()]) {
        const auto mask = m->mask();
        ASSERT_TRUE(mask);
        for (std::size_t id = 0; id < v.texts.size(); ++id) {
          if (v.tokenizer->is_end_of_generation(static_cast<std::int32_t>(id)) || v.bytes(id).empty()) continue;
          ASSERT_EQ(((*mask)[id / 64] >> (id % 64) & 1) != 0, begins(said + v.bytes(id)))
              << low << ".." << high << " after '" << said << "' token " << v.texts[id];
        }
        ASSERT_EQ(m->accepts(), std::binary_search(texts.begin(), texts.end(), said));
        ASSERT_TRUE(m->take({&c, 1}));
        said += c;
      }
      EXPECT_TRUE(m->accepts());
    }
  }
}

TEST(GrammarNumbers, BoundsAreOfAnyKind) {
  constexpr std::string_view whole =
      R"({"type":"integer","minimum":-18446744073709551615,"maximum":18446744073709551615})";
  EXPECT_TRUE(schema_allows(whole, "18446744073709551615"));
  EXPECT_TRUE(schema_allows(whole, "-18446744073709551615"));
  EXPECT_FALSE(schema_allows(whole, "18446744073709551616"));
  constexpr std::string_view zod = R"({"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991})";
  EXPECT_TRUE(schema_allows(zod, "9007199254740991"));
  EXPECT_FALSE(schema_allows(zod, "9007199254740992"));
  EXPECT_FALSE(schema_allows(zod, "-9007199254740992"));
  // Parts of wholes, on either side of 0, and what no text reaches.
  EXPECT_TRUE(schema_allows(R"({"type":"integer","minimum":2.5,"exclusiveMaximum":4.5})", "4"));
  EXPECT_FALSE(schema_allows(R"({"type":"integer","minimum":2.5,"exclusiveMaximum":4.5})", "2"));
  EXPECT_TRUE(schema_allows(R"({"type":"integer","exclusiveMinimum":-2.5,"maximum":-0.5})", "-2"));
  EXPECT_FALSE(schema_allows(R"({"type":"integer","exclusiveMinimum":-2.5,"maximum":-0.5})", "0"));
  EXPECT_FALSE(schema_allows(R"({"type":"integer","exclusiveMinimum":-2.5,"maximum":-0.5})", "-3"));
  EXPECT_TRUE(schema_allows(R"({"type":"integer","minimum":-1e300,"maximum":2e1})", "-123456789012345678"));
  EXPECT_FALSE(schema_allows(R"({"type":"integer","minimum":-1e300,"maximum":2e1})", "21"));
  EXPECT_TRUE(schema_allows(R"({"type":"integer","minimum":10000000000000000})", "10000000000000001"));
  EXPECT_FALSE(schema_allows(R"({"type":"integer","minimum":10000000000000000})", "9999999999999999"));
  EXPECT_TRUE(
      schema_allows(R"({"type":"integer","minimum":3,"exclusiveMinimum":5,"maximum":6,"exclusiveMaximum":9})", "6"));
  EXPECT_FALSE(
      schema_allows(R"({"type":"integer","minimum":3,"exclusiveMinimum":5,"maximum":6,"exclusiveMaximum":9})", "5"));
  EXPECT_TRUE(schema_allows(R"({"type":"number","multipleOf":1})", "-12"));
  EXPECT_FALSE(schema_allows(R"({"type":"number","multipleOf":1.0})", "1.5"));
  EXPECT_TRUE(schema_allows(R"({"type":["integer","null"],"minimum":3})", "null"));
  EXPECT_FALSE(schema_allows(R"({"type":["integer","null"],"minimum":3})", "2"));
  EXPECT_FALSE(schema_allows(R"({"minimum":3})", "2.5"));
  EXPECT_FALSE(schema_allows(R"({"type":"integer"})", "-0"));
}

TEST(GrammarNumbers, NumbersAreOnTheirSideOfWholeBounds) {
  const auto check = [](std::string_view schema, std::initializer_list<const char*> good,
                        std::initializer_list<const char*> bad) {
    for (const char* text : good) EXPECT_TRUE(schema_allows(schema, text)) << schema << text;
    for (const char* text : bad) EXPECT_FALSE(schema_allows(schema, text)) << schema << text;
  };
  check(R"({"type":"number","exclusiveMinimum":0})", {"1", "0.5", "0.0001", "12.50", "999999999999999.9"},
        {"0", "0.0", "-1", "-0.5", "-0", "0.", "1e2"});
  check(R"({"type":"number","minimum":0})", {"0", "0.0", "0.5", "7"}, {"-1", "-0", "-0.5"});
  check(R"({"type":"number","exclusiveMaximum":0})", {"-1", "-0.5", "-0.001", "-10.25"},
        {"0", "0.0", "-0", "-0.0", "1"});
  check(R"({"type":"number","maximum":0})", {"0", "0.00", "-1", "-0.5"}, {"0.1", "1", "-0", "-0.0"});
  check(R"({"type":"number","minimum":0,"maximum":1})", {"0", "1", "0.25", "1.0", "1.000"},
        {"1.1", "2", "-0.5", "1.001"});
  check(R"({"type":"number","exclusiveMinimum":0,"maximum":1})", {"0.1", "1"}, {"0", "0.0"});
  check(R"({"type":"number","minimum":-3,"maximum":12})", {"-3", "-3.0", "-2.99", "0.5", "11.9", "12"},
        {"-3.1", "-4", "12.1", "13"});
  check(R"({"type":"number","minimum":-5,"maximum":-2})", {"-5", "-2", "-2.5", "-4.99"}, {"-1.9", "-5.1", "0", "2"});
  check(R"({"type":"number","minimum":-3.4028234663852886e+38,"maximum":3.4028234663852886e+38})", {"-1.5", "123"},
        {"1e39"});
}

TEST(GrammarNumbers, WhatIsNotHonouredIsNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"type":"number","minimum":0.5})", "the keyword minimum is honoured in number for whole numbers alone"},
      {R"({"type":"number","exclusiveMaximum":5})", "the keyword exclusiveMaximum is honoured in number for 0 alone"},
      {R"({"type":"integer","minimum":"5"})", "the keyword minimum is honoured in integer for numbers alone"},
      {R"({"type":"integer","minimum":5,"exclusiveMinimum":true})",
       "exclusiveMinimum is honoured in integer for numbers"},
      {R"({"type":"integer","multipleOf":3})", "the keyword multipleOf is not honoured in integer"},
      {R"({"type":"number","multipleOf":0.01})", "the keyword multipleOf is not honoured in number"},
      {R"({"type":"integer","minimum":5,"maximum":4})", "a minimum and a maximum with a number"},
      {R"({"type":"integer","exclusiveMinimum":5,"exclusiveMaximum":6})", "a minimum and a maximum with a number"},
      {R"({"type":"integer","minimum":1e30})", "a minimum and a maximum with a number"},
      {R"({"type":"integer","exclusiveMinimum":18446744073709551615})", "a minimum and a maximum with a number"},
      {R"({"type":"number","exclusiveMinimum":0,"maximum":0})", "a minimum and a maximum with a number"},
      {R"({"type":"string","minimum":5})", "the keyword minimum is not honoured in string"}};
  for (const auto& [schema, fault] : wrong)
    EXPECT_NE(schema_fault(schema).find(fault), std::string::npos) << schema << ": " << schema_fault(schema);
}

TEST(GrammarNumbers, KeywordsThatAllowEverythingAreRead) {
  for (const char* schema :
       {R"({"type":"array","items":{"type":"null"},"uniqueItems":false,"minItems":0,"unevaluatedItems":true})",
        R"({"type":"integer","exclusiveMinimum":false,"exclusiveMaximum":false,"nullable":false})",
        R"({"type":"object","minProperties":0,"patternProperties":{},"propertyNames":{"type":"string"},"not":false})",
        R"({"type":"object","propertyNames":true,"dependentRequired":{},"unevaluatedProperties":true})"})
    EXPECT_EQ(schema_fault(schema), "read") << schema;
  for (const char* schema :
       {R"({"type":"array","uniqueItems":true})", R"({"type":"object","minProperties":1})",
        R"({"type":"object","propertyNames":{"type":"integer"}})", R"({"type":"object","unevaluatedProperties":false})",
        R"({"type":"object","patternProperties":{"a":true}})", R"({"type":"string","nullable":true})"})
    EXPECT_NE(schema_fault(schema).find("is not honoured in"), std::string::npos) << schema << schema_fault(schema);
}

}  // namespace grammar_numbers_test
