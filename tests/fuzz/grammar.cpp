// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/grammar.cpp: edited grammars and schemas, and any text as one; what is read follows any bytes.
// covers: zrt/text/grammar/gbnf.hpp 90
// covers: zrt/text/grammar/grammar.hpp 90
// covers: zrt/text/grammar/left_recursion.hpp 90
// covers: zrt/text/grammar/json_schema.hpp 90
// covers: zrt/text/grammar/number_rules.hpp 90
// covers: zrt/text/grammar/pattern_reader.hpp 90
// covers: zrt/text/grammar/pattern_terms.hpp 90
// covers: zrt/text/grammar/string_rules.hpp 90
// max-len: 256
#include <zrt/text/grammar/json_schema.hpp>
#include <zrt/text/grammar/matcher.hpp>

#include <array>
#include <data/tokenizer/small_vocabularies.hpp>
#include <fuzz/edit_text.hpp>
#include <string>
#include <vector>

namespace {

using namespace zrt;
using namespace zrt::text::grammar;

constexpr std::array<std::string_view, 44> kTokens{"root ::= ",
                                                   "a",
                                                   " | ",
                                                   "(",
                                                   ")",
                                                   "*",
                                                   "+",
                                                   "?",
                                                   "{2,3}",
                                                   "{0,}",
                                                   "[a-z]",
                                                   "[^\"]",
                                                   ".",
                                                   "\"x\"",
                                                   "\\x41",
                                                   "#",
                                                   "\n",
                                                   "\"type\":",
                                                   "\"object\"",
                                                   "\"array\"",
                                                   "\"string\"",
                                                   "\"integer\"",
                                                   "\"enum\":",
                                                   "[1,\"a\"]",
                                                   "\"$ref\":\"#\"",
                                                   "\"anyOf\":[",
                                                   "{",
                                                   "}",
                                                   "]",
                                                   ",",
                                                   "\"items\":",
                                                   "\"minItems\":1",
                                                   "\"maxLength\":3",
                                                   "\"format\":\"date\"",
                                                   "\"required\":[\"a\"]",
                                                   "\"pattern\":\"",
                                                   "\"minimum\":",
                                                   "\"exclusiveMaximum\":",
                                                   "(?=",
                                                   "(?!",
                                                   "\\\\d",
                                                   "^",
                                                   "$",
                                                   "true"};

std::vector<std::string> good_texts() {
  return {
      "root ::= item (\",\" item)*\nitem ::= [a-c]+ | \"\\x41\\u00e9\\U0001f642\\n\" | [^\\x00-\\x7f]{2,3}\n# end\n",
      "root ::= a{0,2} b{1,} .?\na ::= \"x\" root? \"y\"\nb ::= [\\]a-]",
      "root ::= \"a\"{0}\"b\"{2}\n",
      R"({"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":2},"b":{"type":["integer","null"]}},"required":["a"],"additionalProperties":false})",
      R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"n":{"anyOf":[{"$ref":"#/$defs/n"},{"const":null}]}}}}})",
      R"({"type":"array","items":{"enum":[1,"a\"",null,{"k":[]}]},"minItems":1,"maxItems":3})",
      R"({"prefixItems":[{"type":"number"},true],"items":false})",
      R"({"type":"object","additionalProperties":{"type":"boolean"}})",
      R"({"oneOf":[{"type":"object","required":["k"],"properties":{"k":{"const":1}}},{"type":"object","required":["k"],"properties":{"k":{"enum":[2,3]}}},{"type":["null","string"]}]})",
      R"({"anyOf":[{"type":"string","format":"date-time"},{"type":"string","format":"uuid"},{"type":"string","format":"time"}]})",
      R"({"type":"array","maxItems":0})",
      R"({"type":"array","items":false})",
      R"({"type":"object","additionalProperties":false})",
      R"({"title":"t","type":"string"})",
      R"({"type":["string","integer"],"enum":[5,"a",1.5,null,true,[1],{"k":1}]})",
      R"({"type":"object","const":{"a":[1]}})",
      R"({"type":[],"enum":[5]})",
      R"({"type":"text","const":5})",
      R"({"type":"string","enum":[5]})",
      R"({"type":"array","minItems":2,"maxItems":1})",
      R"({"type":"string","minLength":2,"maxLength":1})",
      R"({"type":"array","minItems":-1})",
      R"({"type":"integer","required":["a"]})",
      R"({"type":"object","required":"a"})",
      R"({"type":"object","properties":[]})",
      R"({"type":"object","additionalProperties":5})",
      R"({"prefixItems":{"a":1}})",
      R"({"$ref":"#/$defs/a","$defs":{"a":{"$id":"x","type":"string"}}})",
      R"({"$ref":"#/$defs/~a"})",
      R"({"properties":{"a":{"$id":"x"}}})",
      R"({"type":"integer","minimum":-9007199254740991,"exclusiveMaximum":105,"multipleOf":1})",
      R"({"anyOf":[{"type":"number","exclusiveMinimum":0},{"type":"number","minimum":-2.0,"maximum":1},{"type":"number","exclusiveMaximum":0}]})",
      R"({"type":"integer","minimum":-1e30,"maximum":99999999999999999999,"uniqueItems":false,"propertyNames":{"type":"string"}})",
      R"({"type":"integer","exclusiveMinimum":2.5,"maximum":"5"})",
      R"({"type":"number","minimum":0.5,"exclusiveMinimum":1})",
      R"({"type":"integer","minimum":3,"maximum":2})",
      R"({"type":"string","pattern":"^(?:[a-c\\d]|\\u00e9\\x41){1,3}(?<n>x|\\W?)+.*$|[^\\S\\n]","minLength":1,"maxLength":9})",
      R"({"type":"string","pattern":"^P(?!.*W)(?=\\d|T$)(\\d+Y)?(T(?=\\d).{2,}?)?$","format":"own"})",
      R"({"type":"string","pattern":"^\\/\\\"[\\]\\b]\\S$","format":"uri"})",
      R"({"type":"string","pattern":"(a)\\1(?<=b)(?i)a{3,2}[z-a]\\ud800$b","format":"ipv6"})",
  };
}

void demand(bool condition) {
  if (!condition) __builtin_trap();
}

const test::SmallVocabulary& vocabulary() {
  static const test::SmallSentencePiece kPieces;
  return kPieces;
}

/// What a grammar is made to do with any bytes.
void follow(const Grammar& grammar, std::string_view bytes) {
  static const auto kTokenizer = text::Tokenizer::make(vocabulary().spec);
  static const auto kTrie = TokenTrie::make(*kTokenizer);
  auto m = Matcher::make(grammar, *kTrie, {.bytes = 1u << 16, .places = 256, .depth = 100});
  if (!m) return;
  for (const char c : bytes) {
    if (!m->mask() || !m->take(std::string_view(&c, 1))) return;
    (void)m->accepts();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string> kGood = good_texts();
  if (size == 0) return 0;
  const std::string text = test::edited_text(kGood, kTokens, {data, size});
  const auto grammar = read_gbnf(text);
  demand(grammar || !grammar.error().text().empty());
  if (grammar) follow(*grammar, text);
  const auto schema = gbnf_of_json_schema(text);
  if (!schema) return 0;
  // What a schema becomes is a grammar, but for limits and schemas that stand for themselves.
  const auto read = read_gbnf(schema->view());
  demand(read || read.error().code() == Errc::limit_exceeded ||
         read.error().text().find("begins with itself") != std::string_view::npos);
  if (read) follow(*read, R"({"a":"b"})");
  return 0;
}
