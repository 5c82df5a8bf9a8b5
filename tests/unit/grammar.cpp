// SPDX-License-Identifier: Apache-2.0
// tests/unit/grammar.cpp: grammars against a slow recogniser, masks against each token's bytes, schemas against texts.
#include <zrt/engine/keep_allowed.hpp>
#include <zrt/text/grammar/json_schema.hpp>
#include <zrt/text/grammar/matcher.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <iostream>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <support/schema_texts.hpp>
#include <vector>

namespace grammar_test {
namespace {

using namespace zrt;
using namespace zrt::text::grammar;
using test::matches;
using test::schema_allows;
using test::Vocabulary;

/// A grammar as a tree, and the recogniser that goes with it: all ends of a match by backtracking over sets.
struct Tree {
  enum class Kind { bytes, sequence, either, repeat, call } kind = Kind::bytes;
  std::string text;
  std::vector<Tree> parts;
  int least = 0;
  int most = 0;
  int rule = 0;
};
using Rules = std::vector<Tree>;
using Ends = std::set<std::size_t>;

/// Where a match of `tree` that begins at `at` can end. Past the text's end, `open` says that it needs more.
Ends ends(const Rules& rules, const Tree& tree, std::string_view text, std::size_t at, bool& open, int depth) {
  if (depth > 60) return {};
  switch (tree.kind) {
    case Tree::Kind::bytes: {
      for (std::size_t i = 0; i < tree.text.size(); ++i) {
        if (at + i == text.size()) return open = true, Ends{};
        if (text[at + i] != tree.text[i]) return {};
      }
      return {at + tree.text.size()};
    }
    case Tree::Kind::sequence: {
      Ends now{at};
      for (const Tree& part : tree.parts) {
        Ends next;
        for (const std::size_t e : now) next.merge(ends(rules, part, text, e, open, depth + 1));
        now = next;
      }
      return now;
    }
    case Tree::Kind::either: {
      Ends all;
      for (const Tree& part : tree.parts) all.merge(ends(rules, part, text, at, open, depth + 1));
      return all;
    }
    case Tree::Kind::repeat: {
      Ends all;
      Ends now{at};
      if (tree.least == 0) all.insert(at);
      for (int i = 1; i <= tree.most && !now.empty(); ++i) {
        Ends next;
        for (const std::size_t e : now) next.merge(ends(rules, tree.parts[0], text, e, open, depth + 1));
        if (i >= tree.least) all.insert(next.begin(), next.end());
        now = next;
      }
      return all;
    }
    case Tree::Kind::call:
      return ends(rules, rules[static_cast<std::size_t>(tree.rule)], text, at, open, depth + 1);
  }
  return {};
}
/// Whether `text` begins a text of the grammar, and whether it is one.
std::pair<bool, bool> recognise(const Rules& rules, std::string_view text) {
  bool open = false;
  const Ends found = ends(rules, rules[0], text, 0, open, 0);
  const bool whole = found.contains(text.size());
  return {open || whole, whole};
}

std::string gbnf(const Tree& t) {
  switch (t.kind) {
    case Tree::Kind::bytes:
      return "\"" + t.text + "\"";
    case Tree::Kind::sequence:
    case Tree::Kind::either: {
      std::string all;
      for (const Tree& p : t.parts) all += (all.empty() ? "" : t.kind == Tree::Kind::either ? " | " : " ") + gbnf(p);
      return "(" + all + ")";
    }
    case Tree::Kind::repeat: {
      const std::string part = "(" + gbnf(t.parts[0]) + ")";
      if (t.least == 0 && t.most == 1) return part + "?";
      return part + "{" + std::to_string(t.least) + "," + std::to_string(t.most) + "}";
    }
    case Tree::Kind::call:
      return "r" + std::to_string(t.rule);
  }
  return {};
}

Tree of(Tree::Kind kind) {
  Tree tree;
  tree.kind = kind;
  return tree;
}
Tree letter(const char* text) {
  Tree tree;
  tree.text = text;
  return tree;
}
Tree call(int rule) {
  Tree tree = of(Tree::Kind::call);
  tree.rule = rule;
  return tree;
}

/// A tree of letters; calls go to later rules, or to any behind a letter, so that nothing begins with itself.
Tree random_tree(std::mt19937& random, int depth, int rule, int rules) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  constexpr std::array letters{"a", "b", "ab", "\xc3\xa9", "\xf0\x9f\x99\x82", "c"};
  const int kind = depth == 0 ? 0 : below(6);
  if (kind <= 1) return letter(letters[static_cast<std::size_t>(below(6))]);
  if (kind == 5) {
    if (rule + 1 < rules && below(2) == 0) return call(rule + 1 + below(rules - rule - 1));
    Tree t = of(Tree::Kind::sequence);
    t.parts.push_back(letter(letters[static_cast<std::size_t>(below(6))]));
    t.parts.push_back(call(below(rules)));
    // Without a way out of the recursion the rule has no text.
    Tree choice = of(Tree::Kind::either);
    choice.parts = {t, letter("c")};
    return choice;
  }
  Tree t = of(kind == 2 ? Tree::Kind::sequence : kind == 3 ? Tree::Kind::either : Tree::Kind::repeat);
  for (int i = 0; i < (kind == 4 ? 1 : 1 + below(3)); ++i)
    t.parts.push_back(random_tree(random, depth - 1, rule, rules));
  t.least = below(3);
  t.most = t.least + below(3) + (t.least == 0 ? 1 : 0);
  return t;
}

bool allowed(Span<const std::uint64_t> mask, std::size_t id) { return (mask[id / 64] >> (id % 64) & 1) != 0; }

}  // namespace

TEST(Grammar, MasksAreThoseOfASlowRecogniser) {
  std::vector<std::string> pieces{"ab",
                                  "ba",
                                  "aab",
                                  "abc",
                                  "cc",
                                  "\xc3\xa9",
                                  "a\xc3\xa9",
                                  "\xf0\x9f\x99\x82"
                                  "a",
                                  "bc",
                                  "cab"};
  for (std::string p : {"\xc3", "a\xc3",
                        "\xa9"
                        "b",
                        "\xf0\x9f", "\x99\x82", "b\xf0"})
    pieces.push_back(p);
  const Vocabulary v(pieces);
  std::mt19937 random(7);
  std::size_t checked = 0;
  std::size_t texts = 0;
  for (int round = 0; round < 300; ++round) {
    Rules rules;
    const int count = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < count; ++i) rules.push_back(random_tree(random, 3, i, count));
    std::string source = "root ::= r0\n";
    for (int i = 0; i < count; ++i)
      source += "r" + std::to_string(i) + " ::= " + gbnf(rules[static_cast<std::size_t>(i)]) + "\n";
    const auto grammar = read_gbnf(source);
    if (!grammar) {
      // A rule may begin with itself through parts that may be left out.
      ASSERT_NE(grammar.error().text().find("begins with itself"), std::string_view::npos)
          << grammar.error().text() << source;
      continue;
    }
    auto m = Matcher::make(*grammar, *v.trie, {.bytes = round % 2 == 0 ? std::size_t{1} << 24 : std::size_t{1} << 15});
    ASSERT_TRUE(m.has_value());
    std::string said;
    for (int step = 0; step < 6; ++step) {
      const auto mask = m->mask();
      // A grammar that is too ambiguous ends the request: nothing is allowed by mistake.
      if (!mask && mask.error().code() == Errc::limit_exceeded) break;
      ASSERT_TRUE(mask.has_value()) << mask.error().text();
      EXPECT_EQ(m->accepts(), recognise(rules, said).second) << source << "after " << said;
      std::vector<std::size_t> next;
      for (std::size_t id = 0; id < v.texts.size(); ++id) {
        const bool end = v.tokenizer->is_end_of_generation(static_cast<std::int32_t>(id));
        const std::string piece = v.bytes(id);
        const bool expected = end ? m->accepts() : !piece.empty() && recognise(rules, said + piece).first;
        ASSERT_EQ(allowed(*mask, id), expected) << source << "after '" << said << "' token " << v.texts[id];
        if (expected && !end) next.push_back(id);
        ++checked;
      }
      if (next.empty()) break;
      const std::string piece = v.bytes(next[random() % next.size()]);
      ASSERT_TRUE(m->take(piece).has_value());
      said += piece;
      ++texts;
    }
  }
  EXPECT_GT(checked, 100000u);
  EXPECT_GT(texts, 500u);
}

TEST(Grammar, ReadsGbnf) {
  const auto g = read_gbnf(
      "# a comment\nroot ::= item (\",\" ws item)*\nitem ::= [a-c]+ | \"\\x41\" |\n  [^\\x00-\\x7f]{2,3}\nws ::= \" "
      "\"?");
  ASSERT_TRUE(g.has_value()) << g.error().text();
  for (const char* good : {"a", "abc,A", "a, b", "\xc3\xa9\xc3\xa9", "\xe2\x82\xac\xc3\xa9\xf0\x9f\x99\x82"})
    EXPECT_TRUE(matches(*g, good)) << good;
  for (const char* bad : {"", "d", "a,", "AA", "\xc3\xa9", "\xc3", "\xed\xa0\x80\xc3\xa9", "a,  b"})
    EXPECT_FALSE(matches(*g, bad)) << bad;
}

// A part that is repeated no time stands nowhere, and one without a byte may be repeated.
TEST(Grammar, ReadsPartsThatAreNotThere) {
  const auto g = read_gbnf("root ::= (\"x\" | none){0} \"\" (\"\" \"\")* none{0,3} \"a\"? \"b\"\nnone ::= \"\" \"\"\n");
  ASSERT_TRUE(g.has_value()) << g.error().text();
  for (const char* good : {"b", "ab"}) EXPECT_TRUE(matches(*g, good)) << good;
  for (const char* bad : {"", "a", "xb", "aab"}) EXPECT_FALSE(matches(*g, bad)) << bad;
}

TEST(Grammar, RefusesWhatIsNone) {
  const auto text = [](std::string_view source) {
    const auto g = read_gbnf(source);
    return g ? std::string("read") : std::string(g.error().text());
  };
  EXPECT_EQ(text("root ::= \"a"), "grammar, line 1, column 12: expected \", found the end");
  EXPECT_EQ(text("a ::= \"a\""), "grammar: expected a rule root, found none");
  EXPECT_EQ(text("root ::= b"), "grammar: expected a rule b, which another rule names, found none");
  EXPECT_NE(text("root ::= root \"a\" | \"b\"").find("begins with itself"), std::string::npos);
  EXPECT_NE(text("root ::= a\na ::= \"\" root").find("begins with itself"), std::string::npos);
  EXPECT_NE(text("root ::= [z-a]").find("rising"), std::string::npos);
  EXPECT_NE(text("root ::= \"a\"{3000}").find("at most 2000"), std::string::npos);
  EXPECT_NE(text("root ::= ((\"a\"{2000}){2000}){2000}").find("repetitions"), std::string::npos);
  EXPECT_NE(text("root ::= " + std::string(60000, '(')).find("at most 200 nested"), std::string::npos);
  EXPECT_NE(text("root ::= \"a\" )").find("expected a rule"), std::string::npos);
  EXPECT_NE(text("root ::= \"a\"\nroot ::= \"b\"").find("a second"), std::string::npos);
  EXPECT_EQ(text("root ::= (\"\")*"), "read");
}

// As many rules as there may be: each calls the next without a byte, or behind rules without one.
TEST(Grammar, ChecksManyRulesInLinearTime) {
  const auto chain = [](std::string_view link, std::string_view last) {
    std::string source = "root ::= r1\n";
    for (int i = 1; i < 9'998; ++i)
      source += "r" + std::to_string(i) + " ::= " + std::string(link) + " r" + std::to_string(i + 1) + "\n";
    return source + "r9998 ::= " + std::string(last) + "\nnone ::= \"\"\n";
  };
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(read_gbnf(chain("", "\"a\"")).has_value());
  EXPECT_TRUE(read_gbnf(chain("none", "\"\"")).has_value());
  EXPECT_TRUE(read_gbnf(chain("none?", "\"a\" r1")).has_value());
  for (const char* last : {"r1", "none r9998", "root | \"a\""}) {
    const auto g = read_gbnf(chain("none", last));
    ASSERT_FALSE(g.has_value()) << last;
    EXPECT_NE(g.error().text().find("begins with itself"), std::string::npos) << last;
  }
  // Far above what it takes, far below what the square of the rules would.
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 5.0);
}

// Whether a rule begins with itself, found by following calls one after the other.
TEST(Grammar, FindsEveryRuleThatBeginsWithItself) {
  std::mt19937 random(5);
  std::size_t recursive = 0;
  for (int round = 0; round < 500; ++round) {
    constexpr std::size_t kRules = 6;
    std::array<std::vector<std::pair<bool, std::size_t>>, kRules> bodies;  // a letter, or a call of a rule
    std::string source;
    for (std::size_t i = 0; i < kRules; ++i) {
      source += (i == 0 ? "root" : "r" + std::to_string(i)) + std::string(" ::= \"\"");
      for (unsigned k = random() % 4; k > 0; --k) {
        bodies[i].emplace_back(random() % 3 == 0, random() % kRules);
        const auto [letter, rule] = bodies[i].back();
        source += letter ? " \"a\"" : rule == 0 ? " root" : " r" + std::to_string(rule);
      }
      source += "\n";
    }
    std::array<bool, kRules> nullable{};
    for (std::size_t again = 0; again < kRules; ++again)
      for (std::size_t i = 0; i < kRules; ++i)
        nullable[i] = std::all_of(bodies[i].begin(), bodies[i].end(),
                                  [&](const auto& part) { return !part.first && nullable[part.second]; });
    std::array<std::array<bool, kRules>, kRules> begins{};
    for (std::size_t i = 0; i < kRules; ++i)
      for (const auto& [letter, rule] : bodies[i]) {
        if (letter) break;
        begins[i][rule] = true;
        if (!nullable[rule]) break;
      }
    for (std::size_t k = 0; k < kRules; ++k)
      for (std::size_t i = 0; i < kRules; ++i)
        for (std::size_t j = 0; j < kRules; ++j) begins[i][j] = begins[i][j] || (begins[i][k] && begins[k][j]);
    bool expected = false;
    for (std::size_t i = 0; i < kRules; ++i) expected = expected || begins[i][i];
    recursive += expected ? 1u : 0u;
    EXPECT_EQ(read_gbnf(source).has_value(), !expected) << source;
  }
  EXPECT_GT(recursive, 50u);
  EXPECT_LT(recursive, 450u);
}

TEST(Grammar, WritesWhatASchemaAllows) {
  constexpr std::string_view person =
      R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"tags":{"type":"array","items":{"enum":["a","b\"c"]},"maxItems":2}},"required":["name"],"additionalProperties":false})";
  EXPECT_TRUE(schema_allows(person, R"({"name": "x"})"));
  EXPECT_TRUE(schema_allows(person, R"({"name":"\u00e9\n","age":-12,"tags":["a", "b\"c"]})"));
  EXPECT_TRUE(schema_allows(person, "{\n  \"name\": \"x\", \"tags\": []\n}"));
  EXPECT_FALSE(schema_allows(person, R"({"age":1})"));
  EXPECT_FALSE(schema_allows(person, R"({"name":"x",})"));
  EXPECT_FALSE(schema_allows(person, R"({"name":"x","tags":["a","a","a"]})"));
  EXPECT_FALSE(schema_allows(person, R"({"name":"x","more":1})"));
  EXPECT_FALSE(schema_allows(person, R"({"name":1})"));
  constexpr std::string_view tree =
      R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":["number","null"]},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"const":null}]}},"required":["v","next"]}}})";
  EXPECT_TRUE(schema_allows(tree, R"({"v":1.5,"next":{"v":null,"next":null}})"));
  EXPECT_FALSE(schema_allows(tree, R"({"v":1.5,"next":{"v":null}})"));
  EXPECT_TRUE(schema_allows(R"({"type":"object"})", R"({"a":[1,{"b":true}],"c":"d"})"));
  EXPECT_FALSE(schema_allows(R"({"type":"object"})", "[]"));
  EXPECT_TRUE(schema_allows(R"({"type":"string","minLength":2,"maxLength":3})", "\"\xc3\xa9x\""));
  EXPECT_FALSE(schema_allows(R"({"type":"string","minLength":2,"maxLength":3})", "\"x\""));
  EXPECT_FALSE(schema_allows(R"({"type":"string","minLength":2,"maxLength":3})", "\"xxxx\""));
  EXPECT_TRUE(schema_allows(R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}],"items":false})",
                            "[1, true]"));
  EXPECT_FALSE(
      schema_allows(R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}],"items":false})", "[1]"));
  EXPECT_TRUE(schema_allows(R"({"type":"array","minItems":1,"items":{"type":"null"}})", "[null,null]"));
  EXPECT_FALSE(schema_allows(R"({"type":"array","minItems":1,"items":{"type":"null"}})", "[]"));
  EXPECT_TRUE(schema_allows(R"({"additionalProperties":{"type":"integer"}})", R"({"a":1,"b":2})"));
  EXPECT_FALSE(schema_allows(R"({"additionalProperties":{"type":"integer"}})", R"({"a":"1"})"));
  EXPECT_TRUE(schema_allows(R"({"type":"string","format":"date-time"})", "\"2026-07-31T12:00:00Z\""));
  EXPECT_FALSE(schema_allows(R"({"type":"string","format":"date-time"})", "\"2026-06-31T12:00:00Z\""));
}

TEST(Grammar, NamesTheKeywordThatASchemaMayNotHave) {
  const auto text = [](std::string_view schema) {
    const auto g = read_json_schema(schema);
    return g ? std::string("read") : std::string(g.error().text());
  };
  for (const char* keyword : {"pattern", "not", "if", "patternProperties", "uniqueItems", "contains", "allOf",
                              "dependentRequired", "x-own"}) {
    const std::string schema =
        std::string(R"({"type":"object","properties":{"a":{"type":"integer",")") + keyword + R"(":1}}})";
    EXPECT_NE(text(schema).find(std::string("the keyword ") + keyword + " is not honoured"), std::string::npos)
        << text(schema);
  }
  EXPECT_NE(text(R"({"$ref":"http://x"})").find("expected a $ref of this schema"), std::string::npos);
  EXPECT_NE(text(R"({"$ref":"#/$defs/x"})").find("expected a schema at #/$defs/x"), std::string::npos);
  EXPECT_NE(text(R"({"$ref":"#"})").find("begins with itself"), std::string::npos);
  EXPECT_NE(text(R"({"type":"object","properties":{},"required":["a"]})").find("which required does"),
            std::string::npos);
  EXPECT_NE(text(R"({"type":"string","format":"regex"})").find("the format regex"), std::string::npos);
  EXPECT_NE(text(R"({"type":"array","maxItems":100000})").find("maxItems"), std::string::npos);
  EXPECT_NE(text("{").find("JSON: expected"), std::string::npos);
  EXPECT_EQ(text(R"({"title":"t","description":"d","type":"integer"})"), "read");
}

// A keyword of the wrong shape is no keyword that says nothing.
TEST(Grammar, NamesTheKeywordOfTheWrongShape) {
  const auto text = [](std::string_view schema) {
    const auto g = read_json_schema(schema);
    return g ? std::string("read") : std::string(g.error().text());
  };
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"type":"object","properties":{"a":true},"required":"a"})", "a list of texts as required"},
      {R"({"type":"object","properties":{"a":true},"required":["a",1]})", "a list of texts as required"},
      {R"({"type":["object","null"],"required":{}})", "a list of texts as required"},
      {R"({"type":["string","null"],"required":{}})", "a list of texts as required"},
      {R"({"properties":[]})", "an object of schemas as properties"},
      {R"({"type":"object","additionalProperties":1})", "true, false or a schema as additionalProperties"},
      {R"({"type":"object","properties":{"a":true},"additionalProperties":"no"})", "as additionalProperties"},
      {R"({"type":"array","prefixItems":{"a":true}})", "a list of schemas as prefixItems"},
      {R"({"type":"array","items":[{"type":"string"}]})", "a schema and no list of them as items"},
      {R"({"type":["string","null"],"items":[]})", "as items"},
      {R"({"type":"object","properties":{"a":false}})", "the schema false, which no value matches, is not honoured"},
      {R"({"type":"array","minItems":1,"maxItems":0})", "no less than minItems, found 1..0"},
      {R"({"type":"array","items":false,"minItems":3,"maxItems":2})", "no less than minItems, found 3..2"},
      {R"({"properties":{"a":{"$id":"x","type":"null"}}})", "the keyword $id is honoured at the root alone"},
      {R"({"properties":{"a":{"$id":"x","type":["null","string"]}}})", "the keyword $id is honoured"},
      {R"({"$ref":"#/$defs/a/items","$defs":{"a":{"$id":"x","items":{"type":"null"}}}})",
       "the keyword $id is honoured"},
      {R"({"anyOf":[{"$id":"x","const":1}]})", "the keyword $id is honoured"}};
  for (const auto& [schema, fault] : wrong)
    EXPECT_NE(text(schema).find(fault), std::string::npos) << schema << ": " << text(schema);
  EXPECT_EQ(text(R"({"$id":"x","type":["object","null"],"properties":{"$id":{"$ref":"#"}}})"), "read");
  EXPECT_EQ(text(R"({"$ref":"#/properties/a","properties":{"$id":true,"a":{"type":"null"}}})").find("$id"),
            std::string::npos);
}

TEST(Grammar, ValuesAreOfTheTypeBesideThem) {
  EXPECT_TRUE(schema_allows(R"({"type":"string","enum":[5,"5",null]})", "\"5\""));
  EXPECT_FALSE(schema_allows(R"({"type":"string","enum":[5,"5",null]})", "5"));
  EXPECT_TRUE(schema_allows(R"({"type":["integer","null"],"enum":[5,1.5,"5",null]})", "null"));
  EXPECT_FALSE(schema_allows(R"({"type":["integer","null"],"enum":[5,1.5,"5",null]})", "1.5"));
  EXPECT_TRUE(schema_allows(R"({"type":"number","enum":[5,1.5]})", "1.5"));
  EXPECT_TRUE(schema_allows(R"({"type":"object","const":{"a":1}})", R"({"a": 1})"));
  const auto text = [](std::string_view schema) { return std::string(read_json_schema(schema).error().text()); };
  for (const char* none : {R"({"type":"string","enum":[5]})", R"({"type":["null"],"enum":[5,true]})"})
    EXPECT_NE(text(none).find("a value of the type beside it in enum, found none"), std::string::npos) << text(none);
  for (const char* none : {R"({"type":"string","const":5})", R"({"type":"boolean","const":1})"})
    EXPECT_NE(text(none).find("a value of the type beside it as const"), std::string::npos) << text(none);
  EXPECT_NE(text(R"({"type":"text","enum":[5]})").find("expected a type of JSON, found text"), std::string::npos);
}

TEST(Grammar, NumbersOfAnyLengthAreThoseOfTheSchema) {
  for (const char* number : {"12345678901234567890", "18446744073709551616", "-9223372036854775809",
                             "340282366920938463463374607431768211456"}) {
    for (const char* form : {R"({"const":)", R"({"type":"integer","enum":[1,)"}) {
      const std::string schema = std::string(form) + number + (form[2] == 'c' ? "}" : "]}");
      EXPECT_TRUE(schema_allows(schema, number)) << schema;
    }
  }
  EXPECT_FALSE(schema_allows(R"({"const":18446744073709551616})", "1.8446744073709552e+19"));
}

TEST(Grammar, OneOfTakesAlternativesThatExcludeEachOther) {
  const auto text = [](std::string_view schema) {
    const auto g = read_json_schema(schema);
    return g ? std::string("read") : std::string(g.error().text());
  };
  for (const char* apart :
       {R"([{"type":"string"},{"type":["integer","null"]}])", R"([{"const":"x"},{"enum":["y",1,null]}])",
        R"([{"const":"x"},{"type":"integer"}])", R"([{"type":"object"},{"type":"array"},{"const":1}])",
        R"([{"type":"object","properties":{"k":{"const":"a"},"v":{"type":"string"}},"required":["k","v"]},
            {"type":"object","properties":{"k":{"const":"b"}},"required":["k"]}])",
        R"([{"type":"object","properties":{"a":{}},"required":["a"]},
            {"type":"object","properties":{"b":{}},"additionalProperties":false}])",
        R"([{"const":{"a":1}},{"type":"object","properties":{"a":{"type":"string"}}}])",
        R"([{"const":[1]},{"const":[1,2]}])", R"([{"anyOf":[{"const":1},{"const":2}]},{"oneOf":[{"const":3}]}])"})
    EXPECT_EQ(text(std::string(R"({"oneOf":)") + apart + "}"), "read") << apart;
  for (const char* both :
       {R"([{"const":"x"},{"enum":["x","y"]}])", R"([{"type":"integer"},{"type":"number"}])",
        R"([{"const":1},{"const":1.0}])", R"([{"type":"string"},true])", R"([{"const":1},{"properties":{"a":{}}}])",
        R"([{"type":"object","properties":{"k":{"const":"a"}}},{"type":"object","properties":{"k":{"const":"b"}}}])",
        R"([{"type":"object","properties":{"a":{}},"required":["a"]},{"type":"object","properties":{"b":{}}}])",
        R"([{"type":"string","format":"date"},{"type":"string","format":"uuid"}])",
        R"([{"const":{"a":1}},{"type":"object","properties":{"a":{"type":"number"}}}])",
        R"([{"anyOf":[{"const":1},{"const":2}]},{"enum":[2]}])", R"([{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}])",
        R"([{"$ref":"#/oneOf/1"},{"$ref":"#/oneOf/0"}])"})
    EXPECT_NE(text(std::string(R"({"$defs":{"a":{"type":"null"}},"oneOf":)") + both + "}").find("may match 0 and 1"),
              std::string::npos)
        << both << text(std::string(R"({"$defs":{"a":{"type":"null"}},"oneOf":)") + both + "}");
  // Many alternatives that a constant tells apart, and more than are looked at.
  const auto many = [](int count) {
    std::string all = R"({"oneOf":[)";
    for (int i = 0; i < count; ++i)
      all += (i == 0 ? "" : ",") + std::string(R"({"type":"object","required":["k"],"properties":{"k":{"const":)") +
             std::to_string(i) + "}}}";
    return all + "]}";
  };
  EXPECT_EQ(text(many(100)), "read");
  EXPECT_NE(text(many(1500)).find("the keyword oneOf"), std::string::npos);
}

TEST(Grammar, ReferencesLeadThroughLists) {
  constexpr std::string_view schema =
      R"({"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"boolean"}]},"b":{"$ref":"#/properties/a/anyOf/1"}},"required":["b"]})";
  EXPECT_TRUE(schema_allows(schema, R"({"b":true})"));
  EXPECT_FALSE(schema_allows(schema, R"({"b":null})"));
  for (const char* path : {"2", "01", "-1", "", "x", "99999999999999999999"}) {
    const std::string none = R"({"anyOf":[{"type":"null"},{"$ref":"#/anyOf/)" + std::string(path) + "\"}]}";
    const auto read = read_json_schema(none);
    ASSERT_FALSE(read) << none;
    EXPECT_NE(std::string(read.error().text()).find("expected a schema at #/anyOf/"), std::string::npos)
        << read.error().text();
  }
}

// Values that share beginnings, also within characters and within each other, and the same one twice.
TEST(Grammar, ValuesShareTheirBeginnings) {
  std::vector<std::string> values{"1",
                                  "12",
                                  "123",
                                  "true",
                                  "null",
                                  "\"\xc3\xa9\"",
                                  "\"\xc3\xaa\"",
                                  "\"\xe2\x82\xac\"",
                                  "\"\xe2\x82\xad\xc3\xa9\"",
                                  "\"a\\n\"",
                                  "\"a\\\"b\"",
                                  "\"a\\\\\"",
                                  "\"\"",
                                  "12"};
  for (std::size_t i = 1; i < 150; ++i) values.push_back("\"" + std::string(i, 'x') + "\"");
  std::string schema;
  for (const std::string& value : values) schema += (schema.empty() ? "" : ",") + value;
  const auto g = read_json_schema("{\"enum\":[" + schema + "]}");
  ASSERT_TRUE(g.has_value()) << g.error().text();
  for (const std::string& value : values) EXPECT_TRUE(matches(*g, value)) << value;
  for (const char* other : {"13", "\"", "\"\xc3\xab\"", "\"\xe2\x82\xad\"", "\"a\"", "\"xy\"", "1234", ""})
    EXPECT_FALSE(matches(*g, other)) << other;
  EXPECT_FALSE(matches(*g, "\"" + std::string(150, 'x') + "\""));
}

// Words of all kinds of density, the last one cut: what a mask forbids is never, the rest is as it was.
TEST(Grammar, AMaskKeepsTheLogitsThatItAllows) {
  std::mt19937_64 random(5);
  for (const std::size_t size : {1u, 63u, 64u, 65u, 1000u}) {
    std::vector<std::uint64_t> mask((size + 63) / 64);
    for (std::uint64_t& word : mask) {
      const std::uint64_t kind = random() % 5;
      word = kind == 0 ? 0 : kind == 1 ? ~std::uint64_t{0} : kind == 2 ? random() & random() & random() : random();
      if (kind == 4) word |= random() | random();
    }
    std::vector<float> logits(size);
    for (std::size_t i = 0; i < size; ++i) logits[i] = static_cast<float>(i) + 0.5f;
    std::uint32_t ones = 0;
    const std::uint32_t count = zrt::detail::keep_allowed({logits.data(), logits.size()}, {mask.data(), mask.size()});
    for (std::size_t i = 0; i < size; ++i) {
      const bool is_allowed = (mask[i / 64] >> (i % 64) & 1) != 0;
      ones += is_allowed ? 1u : 0u;
      EXPECT_EQ(logits[i], is_allowed ? static_cast<float>(i) + 0.5f : -std::numeric_limits<float>::infinity()) << i;
    }
    EXPECT_EQ(count, ones);
  }
}

// 128k tokens of letters, digits and JSON's signs, and an object written token by token. Timed are the mask
// of a token and the step behind it.
TEST(Grammar, MasksOfALargeVocabularyAreCheap) {
  std::mt19937 random(3);
  std::vector<std::string> pieces;
  constexpr std::string_view letters = "etaoinshrdlucmfwypvbgkjqxz  ETAOIN0123456789\"{}[]:,.\n_-";
  std::set<std::string> seen;
  while (pieces.size() < 128000) {
    std::string p(1 + random() % 8, ' ');
    for (char& c : p)
      c = letters[static_cast<std::size_t>(static_cast<double>(letters.size()) *
                                           std::pow(static_cast<double>(random() % 10000) / 10000.0, 1.3))];
    if (seen.insert(p).second) pieces.push_back(p);
  }
  const Vocabulary v(pieces);
  const auto grammar = read_json_schema(
      R"({"type":"object","properties":{"name":{"type":"string"},"size":{"type":"number"},"tags":{"type":"array","items":{"type":"string"}},"inner":{"type":"object"}},"required":["name","size","tags","inner"]})");
  ASSERT_TRUE(grammar.has_value());
  auto m = Matcher::make(*grammar, *v.trie);
  ASSERT_TRUE(m.has_value());
  std::vector<double> times;
  const auto now = [] {  // processor time, in microseconds: other programs take none of it
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
  };
  for (int step = 0; step < 400; ++step) {
    const double begin = now();
    const auto mask = m->mask();
    double took = now() - begin;
    ASSERT_TRUE(mask.has_value()) << mask.error().text();
    std::vector<std::size_t> next;
    for (std::size_t id = 0; id < v.texts.size(); ++id)
      if (allowed(*mask, id) && v.texts[id].size() != 6) next.push_back(id);
    if (next.empty()) break;
    // Strings and numbers that go on for some tokens.
    const std::string piece = v.bytes(next[random() % next.size()]);
    if (piece.empty()) break;
    const double chosen = now();
    ASSERT_TRUE(m->take(piece).has_value());
    took += now() - chosen;
    times.push_back(took);
  }
  std::sort(times.begin(), times.end());
  std::cout << "masks: " << times.size() << ", p50 " << times[times.size() / 2] << " us, p99 "
            << times[times.size() * 99 / 100] << " us, most " << times.back() << " us; kept " << m->used()
            << " bytes, trie " << v.trie->nodes().size() << " nodes\n";
  EXPECT_GT(times.size(), 20u);
#ifdef __OPTIMIZE__
  EXPECT_LT(times[times.size() / 2], 50.0);
#endif
  EXPECT_LE(m->used(), (std::size_t{16} << 20) * 2 + 65536);
}

}  // namespace grammar_test
