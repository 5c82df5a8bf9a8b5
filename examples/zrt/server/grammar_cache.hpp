// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/grammar_cache.hpp: grammars of JSON schemas, kept while they are asked for.
#pragma once

#include <zrt/text/grammar/json_schema.hpp>
#include <zrt/text/grammar/matcher.hpp>

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace program::server {

/// A grammar bound to the model's vocabulary. Requests share it.
struct BoundGrammar {
  zrt::text::grammar::Grammar grammar;
  zrt::text::grammar::TokenGrammar tokens{};
};

/// Reads a schema once for each owner, because the time of a request would tell one what another has asked; the least
/// recently used of an owner's beyond a bound are forgotten. Any thread.
class GrammarCache {
 public:
  /// Of one owner: grammars, and states of all of them.
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostStates = std::size_t{1} << 19;
  /// As many as an engine has tenants, and one that has left.
  static constexpr std::size_t kMostOwners = 64;

  explicit GrammarCache(zrt::text::grammar::TokenTrie trie) : trie_(std::move(trie)) {}

  /// `owner` names a tenant or a group of them.
  ///
  /// Also the mask of an answer's beginning is made, so that a grammar that is too wide is refused here and not within an
  /// answer. Errors: those of read_json_schema and Matcher.
  [[nodiscard]] zrt::Result<std::shared_ptr<const BoundGrammar>> of_schema(const std::string& schema,
                                                                           const std::string& owner);
  /// Grammars that are kept.
  [[nodiscard]] std::size_t size() const;

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const BoundGrammar>>;
  struct Owned {
    std::list<Entry> recent{};  ///< the last used one first
    std::size_t states = 0;
    std::uint64_t used = 0;  ///< when, in requests
  };

  [[nodiscard]] Owned& owned(const std::string& owner);

  zrt::text::grammar::TokenTrie trie_;
  mutable std::mutex mutex_;
  std::map<std::string, Owned, std::less<>> owners_;
  std::uint64_t requests_ = 0;
};

}  // namespace program::server
