// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/grammar_cache.cpp: look-up and bound of the kept grammars.
#include "grammar_cache.hpp"

#include <algorithm>

namespace program::server {

GrammarCache::Owned& GrammarCache::owned(const std::string& owner) {
  if (!owners_.contains(owner) && owners_.size() >= kMostOwners)
    owners_.erase(std::min_element(owners_.begin(), owners_.end(),
                                   [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  Owned& found = owners_[owner];
  found.used = ++requests_;
  return found;
}

zrt::Result<std::shared_ptr<const BoundGrammar>> GrammarCache::of_schema(const std::string& schema,
                                                                         const std::string& owner) {
  {
    const std::lock_guard lock(mutex_);
    std::list<Entry>& recent = owned(owner).recent;
    const auto found = std::find_if(recent.begin(), recent.end(), [&](const Entry& e) { return e.first == schema; });
    if (found != recent.end()) {
      recent.splice(recent.begin(), recent, found);
      return found->second;
    }
  }
  auto read = zrt::text::grammar::read_json_schema(schema);
  if (!read) return zrt::pass(read);
  auto tried = zrt::text::grammar::Matcher::make(*read, trie_);
  if (!tried) return zrt::pass(tried);
  if (const auto mask = tried->mask(); !mask) return zrt::pass(mask);
  auto made = std::make_shared<BoundGrammar>(BoundGrammar{std::move(*read)});
  made->tokens = {&made->grammar, &trie_};
  const std::lock_guard lock(mutex_);
  Owned& kept = owned(owner);
  kept.recent.emplace_front(schema, made);
  kept.states += made->grammar.states();
  while (kept.recent.size() > kMost || kept.states > kMostStates) {
    kept.states -= kept.recent.back().second->grammar.states();
    kept.recent.pop_back();
  }
  return std::shared_ptr<const BoundGrammar>(made);
}

std::size_t GrammarCache::size() const {
  const std::lock_guard lock(mutex_);
  std::size_t all = 0;
  for (const auto& [name, owned] : owners_) all += owned.recent.size();
  return all;
}

}  // namespace program::server
