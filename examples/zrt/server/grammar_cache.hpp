// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/grammar_cache.hpp: grammars of JSON schemas, kept while they are asked for.
#pragma once

#include <zrt/text/grammar/json_schema.hpp>
#include <zrt/text/grammar/matcher.hpp>

#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace program::server {

/// A grammar bound to the model's vocabulary. Requests share it.
struct BoundGrammar {
  zrt::text::grammar::Grammar grammar;
  zrt::text::grammar::TokenGrammar tokens{};
};

/// Reads a schema once; the least recently used of those beyond a bound are forgotten. Any thread.
class GrammarCache {
 public:
  static constexpr std::size_t kMost = 64;

  explicit GrammarCache(zrt::text::grammar::TokenTrie trie) : trie_(std::move(trie)) {}

  /// Also the mask of an answer's beginning is made, so that a grammar that is too wide is refused here and not within an
  /// answer. Errors: those of read_json_schema and Matcher.
  [[nodiscard]] zrt::Result<std::shared_ptr<const BoundGrammar>> of_schema(const std::string& schema);
  [[nodiscard]] std::size_t size() const;

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const BoundGrammar>>;

  zrt::text::grammar::TokenTrie trie_;
  mutable std::mutex mutex_;
  std::list<Entry> recent_;  ///< the last used one first
};

}  // namespace program::server
