// SPDX-License-Identifier: Apache-2.0
// tests/unit/grammar_patterns.cpp: patterns and formats of JSON schemas against std::regex, and what zod writes.
#include <zrt/text/grammar/json_schema.hpp>
#include <zrt/text/grammar/matcher.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <regex>
#include <string>
#include <support/schema_texts.hpp>
#include <vector>

namespace grammar_patterns_test {
namespace {

using namespace zrt;
using namespace zrt::text::grammar;
using test::matches;
using test::schema_allows;
using test::schema_fault;

const test::Vocabulary& bytes() {
  static const test::Vocabulary kBytes({});
  return kBytes;
}
std::string in_quotes(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) all += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  return all + "\"";
}
std::string schema_of(std::string_view pattern, std::string_view more = "") {
  return "{\"type\":\"string\",\"pattern\":" + in_quotes(pattern) + std::string(more) + "}";
}

class RandomPattern {
 public:
  explicit RandomPattern(std::mt19937& random) : random_(random) {}
  std::string whole() {
    std::string all = sequence(kDepth);
    if (below(2) == 0) all = "^" + all;
    if (below(2) == 0) all += "$";
    return all + (below(4) == 0 ? "|" + whole() : "");
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string sequence(int depth) {
    std::string all;
    for (int i = below(4); i >= 0; --i) all += item(depth);
    return all;
  }
  std::string item(int depth) {
    constexpr const char* atoms[] = {"a",   "b",   "c",      "[ab]", "[^a]", ".", "\\d",
                                     "\\D", "\\w", "[\\w-]", "\"",   "\\\\", "1"};
    constexpr const char* counts[] = {"*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,2}?", "*?"};
    const int kind = depth == 0 ? 0 : below(14);
    if (kind == 13 && depth == kDepth)
      return (below(2) == 0 ? "(?=" : "(?!") + sequence(depth - 1) + (below(2) == 0 ? "$)" : ")");
    std::string one = kind < 8 ? atoms[below(13)]
                               : "(" + std::string(below(2) == 0 ? "?:" : "") + sequence(depth - 1) +
                                     (below(2) == 0 ? "|" + sequence(depth - 1) : "") + ")";
    return below(3) == 0 ? one + counts[below(8)] : one;
  }
  static constexpr int kDepth = 2;
  std::mt19937& random_;
};

}  // namespace

TEST(GrammarPatterns, TextsAreThoseOfStdRegex) {
  std::mt19937 random(23);
  std::size_t read = 0, matched = 0, other = 0;
  for (int round = 0; round < 100; ++round) {
    const std::string pattern = RandomPattern(random).whole();
    const std::regex expected(pattern, std::regex::ECMAScript);
    const auto grammar = read_json_schema(schema_of(pattern));
    if (!grammar) {
      const std::string why(grammar.error().text());
      ASSERT_TRUE(why.find("a lookahead ") != std::string::npos ||
                  why.find("no text has the pattern") != std::string::npos ||
                  why.find(" more than ") != std::string::npos)
          << pattern << ": " << why;
      continue;
    }
    ++read;
    for (int i = 0; i < 60; ++i) {
      std::string text(random() % 7, 'a');
      for (char& c : text) c = "abc1\"\\-"[random() % 7];
      const bool found = std::regex_search(text, expected);
      (found ? matched : other) += 1;
      ASSERT_EQ(matches(*grammar, in_quotes(text)), found) << pattern << " and " << text;
    }
  }
  EXPECT_GT(read, 60u);
  EXPECT_GT(matched, 250u);
  EXPECT_GT(other, 250u);
}

// No text leads to where no text goes on: a model would be caught there.
TEST(GrammarPatterns, NoPlaceIsADeadEnd) {
  std::mt19937 random(29);
  for (int round = 0; round < 60; ++round) {
    const std::string pattern = RandomPattern(random).whole();
    const auto grammar = read_json_schema(schema_of(pattern, ",\"maxLength\":9"));
    if (!grammar) continue;
    auto m = Matcher::make(*grammar, *bytes().trie);
    ASSERT_TRUE(m);
    int steps = 0;
    for (; !m->accepts() && steps < 100; ++steps) {
      const auto mask = m->mask();
      ASSERT_TRUE(mask);
      std::vector<std::size_t> next;
      for (std::size_t id = 3; id < 259; ++id)
        if (((*mask)[id / 64] >> (id % 64) & 1) != 0) next.push_back(id);
      ASSERT_FALSE(next.empty()) << pattern;
      ASSERT_TRUE(m->take(bytes().bytes(next[random() % next.size()])));
    }
    EXPECT_TRUE(m->accepts()) << pattern;
  }
}

// As zod 4 has them: z.uuid(), z.email(), z.iso.datetime({offset: true}), z.iso.duration(), .regex().
TEST(GrammarPatterns, ThoseOfZodAreRead) {
  const std::string uuid = schema_of(
      "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-"
      "0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$",
      R"(,"format":"uuid")");
  EXPECT_TRUE(schema_allows(uuid, "\"0b0cF8e2-7a51-4b39-9e0c-1f2a3b4c5d6e\""));
  EXPECT_TRUE(schema_allows(uuid, "\"ffffffff-ffff-ffff-ffff-ffffffffffff\""));
  EXPECT_FALSE(schema_allows(uuid, "\"0b0cf8e2-7a51-0b39-9e0c-1f2a3b4c5d6e\""));
  const std::string email = schema_of(
      "^(?:[A-Za-z0-9_'+\\-]+\\.)*[A-Za-z0-9_'+\\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
      R"(,"format":"email")");
  for (const char* good : {"\"a@b.cd\"", "\"first.last+tag@mail.example.org\""})
    EXPECT_TRUE(schema_allows(email, good)) << good;
  for (const char* bad : {"\"a@b\"", "\"a.@b.cd\"", "\"@b.cd\"", "\"a@b-.cd\"", "\"a@b.c\"", "\"a b@c.de\""})
    EXPECT_FALSE(schema_allows(email, bad)) << bad;
  const std::string moment = schema_of(
      R"(^(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))T(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|([+-](?:[01]\d|2[0-3]):[0-5]\d)))$)",
      R"(,"format":"date-time")");
  for (const char* good : {"\"2026-07-31T12:00:00Z\"", "\"2024-02-29T23:59:59.25+02:00\""})
    EXPECT_TRUE(schema_allows(moment, good)) << good;
  for (const char* bad : {"\"2026-02-29T12:00:00Z\"", "\"2026-04-31T12:00:00Z\"", "\"2026-07-31 12:00:00Z\""})
    EXPECT_FALSE(schema_allows(moment, bad)) << bad;
  const std::string duration =
      schema_of(R"(^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$)",
                R"(,"format":"duration")");
  for (const char* good : {"\"P3W\"", "\"P1Y2M3D\"", "\"PT1H30M\"", "\"P1DT5S\""})
    EXPECT_TRUE(schema_allows(duration, good)) << good;
  for (const char* bad : {"\"P\"", "\"PT\"", "\"P1DT\"", "\"P1W2D\"", "\"P1Y3D\""})
    EXPECT_FALSE(schema_allows(duration, bad)) << bad;
  // Names of zod's own say nothing beside the pattern that they stand for.
  EXPECT_TRUE(schema_allows(schema_of("^ab\\.c.*", R"(,"format":"starts_with")"), "\"ab.cd\""));
  EXPECT_FALSE(schema_allows(schema_of("^[^A-Z]*$", R"(,"format":"lowercase")"), "\"aB\""));
  EXPECT_TRUE(
      schema_allows(schema_of("^(?:[0-9A-F]{2}:){2}[0-9A-F]{2}$|^(?:[0-9a-f]{2}:){2}[0-9a-f]{2}$"), "\"0a:1b:2c\""));
  EXPECT_TRUE(schema_allows(schema_of("^[a-z]+$", R"(,"minLength":2,"maxLength":3)"), "\"abc\""));
  EXPECT_FALSE(schema_allows(schema_of("^[a-z]+$", R"(,"minLength":2,"maxLength":3)"), "\"a\""));
  EXPECT_FALSE(schema_allows(schema_of("^[a-z]+$", R"(,"minLength":2,"maxLength":3)"), "\"abcd\""));
}

TEST(GrammarPatterns, CharactersAreAsJsonHasThem) {
  EXPECT_TRUE(schema_allows(schema_of("^.$"), "\"\xf0\x9f\x99\x82\""));
  EXPECT_TRUE(schema_allows(schema_of("^[^a]$"), R"("\"")"));
  EXPECT_TRUE(schema_allows(schema_of("^\\s$"), R"("\t")"));
  EXPECT_FALSE(schema_allows(schema_of("^.$"), R"("\n")"));
  EXPECT_FALSE(schema_allows(schema_of("^\\s$"), "\"\t\""));
  EXPECT_FALSE(schema_allows(schema_of("^a$"), R"("\u0061")"));
  EXPECT_TRUE(schema_allows(schema_of("^\\u00e9\xc3\xa9$"), "\"\xc3\xa9\xc3\xa9\""));
  EXPECT_TRUE(schema_allows(schema_of("^[\\u00e0-\xe2\x82\xac]$"), "\"\xe2\x82\xac\""));
  EXPECT_TRUE(schema_allows(schema_of("^(?<name>a)\\/\\x41$"), "\"a/A\""));
  EXPECT_NE(schema_fault(schema_of("^\\x01$")).find("no text has the pattern"), std::string::npos);
}

TEST(GrammarPatterns, FormatsAreParts) {
  const auto check = [](std::string_view format, std::initializer_list<const char*> good,
                        std::initializer_list<const char*> bad) {
    const std::string schema = "{\"type\":\"string\",\"format\":\"" + std::string(format) + "\"}";
    for (const char* text : good) EXPECT_TRUE(schema_allows(schema, in_quotes(text))) << schema << text;
    for (const char* text : bad) EXPECT_FALSE(schema_allows(schema, in_quotes(text))) << schema << text;
  };
  check("date", {"2024-02-29", "2000-02-29", "2026-12-31"}, {"2023-02-29", "1900-02-29", "2026-11-31", "2026-13-01"});
  check("time", {"00:00:00Z", "23:59:59.123456789-08:00"}, {"24:00:00Z", "12:00:00", "12:00Z"});
  check("email", {"o'hara@example.com", "a@localhost"}, {"a..b@c.de", "a@", "a@-b.de", "a@1"});
  check("ipv4", {"0.0.0.0", "255.249.99.1"}, {"256.0.0.1", "01.0.0.1", "1.2.3"});
  check("ipv6", {"::", "::1", "2001:db8::8:800:200c:417a"}, {"1::2::3", ":::", "1:2:3:4:5:6:7", "g::"});
  check("hostname", {"example.com", "1a.b-c.d"}, {"-a.b", "a..b", "a.1", ""});
  check("uri", {"https://example.com", "http://a.b:8080/c%20d/"},
        {"example.com", "ftp://a.b", "http://1.2.3", "http://a.b/%2"});
  check("duration", {"P1W", "P1Y2M3DT4H5M6S", "PT5M"}, {"P", "PT", "P1DT", "P1Y2D"});
}

TEST(GrammarPatterns, WhatIsNotHonouredIsNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {"(a)\\1", "the keyword pattern is not honoured with \\1, found at byte 4 of (a)\\1"},
      {"\\bword", "is not honoured with \\b"},
      {"\\p{L}", "is not honoured with \\p"},
      {"(?<=a)b", "is not honoured with a lookbehind"},
      {"(?<!a)b", "is not honoured with a lookbehind"},
      {"((?=a).)b", "is not honoured with a lookahead in a group that something follows"},
      {"((?=a).)*$", "is not honoured with a lookahead that is repeated"},
      {"a{3,2}", "repetitions of 3 to 2"},
      {"a{2000}", "more than 1024 repetitions"},
      {"a$b", "a $ that something follows"},
      {"a^b", "a ^ at this place"},
      {"*a", "a * at this place"},
      {"(a", "a ( without its )"},
      {"a)", "a ) without its ("},
      {"[a", "a [ without its ]"},
      {"[z-a]", "a range of falling characters"},
      {"\\ud800", "a half of a character"},
      {"(?i)a", "a group of this kind"},
      {"^(?:a|b)*a(?:a|b){16}$", "pattern, format and length of a string need more than 4096 states"}};
  for (const auto& [pattern, fault] : wrong)
    EXPECT_NE(schema_fault(schema_of(pattern)).find(fault), std::string::npos)
        << pattern << ": " << schema_fault(schema_of(pattern));
  EXPECT_NE(schema_fault(R"({"type":"string","pattern":5})").find("a text as pattern"), std::string::npos);
  EXPECT_NE(
      schema_fault(R"({"type":"string","format":"regex","pattern":"a"})").find("the format regex is not honoured"),
      std::string::npos);
  EXPECT_NE(schema_fault(R"({"type":"string","format":"own"})").find("the format own is not honoured"),
            std::string::npos);
  EXPECT_NE(schema_fault(schema_of("^a$", R"(,"format":"date")")).find("no text has the pattern"), std::string::npos);
  const std::string nested = std::string(40, '(') + "a" + std::string(40, ')');
  EXPECT_NE(schema_fault(schema_of(nested)).find("more than 32 groups"), std::string::npos);
  // Patterns of a schema share one bound on the work.
  std::string many = R"({"anyOf":[)";
  for (int i = 0; i < 100; ++i)
    many +=
        (i == 0 ? "" : ",") + schema_of("^(?=.*a.{7}).*b.{" + std::to_string(i % 7) + "}c" + std::to_string(i) + "$");
  EXPECT_NE(schema_fault(many + "]}").find("the keyword pattern is not honoured with more than"), std::string::npos)
      << schema_fault(many + "]}");
}

}  // namespace grammar_patterns_test
