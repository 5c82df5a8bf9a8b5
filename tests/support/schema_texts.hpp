// SPDX-License-Identifier: Apache-2.0
// tests/support/schema_texts.hpp: which texts are in a grammar, and what is wrong with a schema.
#pragma once

#include <zrt/text/grammar/json_schema.hpp>
#include <zrt/text/grammar/matcher.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <support/byte_vocabulary.hpp>

namespace zrt::test {

/// Whether a whole text is in a grammar, byte by byte.
inline bool matches(const text::grammar::Grammar& grammar, std::string_view text) {
  static const Vocabulary bytes({});
  auto m = text::grammar::Matcher::make(grammar, *bytes.trie);
  return m && m->take(text) && m->accepts();
}
/// Whether a schema, which is read, allows a text.
inline bool schema_allows(std::string_view schema, std::string_view text) {
  const auto grammar = text::grammar::read_json_schema(schema);
  EXPECT_TRUE(grammar.has_value()) << schema << ": " << (grammar ? "" : grammar.error().text());
  return grammar && matches(*grammar, text);
}
/// The error of a schema; "read" of one without.
inline std::string schema_fault(std::string_view schema) {
  const auto grammar = text::grammar::read_json_schema(schema);
  return grammar ? "read" : std::string(grammar.error().text());
}

}  // namespace zrt::test
