// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/grammar_cache.cpp: look-up and bound of the kept grammars.
#include "grammar_cache.hpp"

#include <algorithm>

namespace program::server {

zrt::Result<std::shared_ptr<const BoundGrammar>> GrammarCache::of_schema(const std::string& schema) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(recent_.begin(), recent_.end(), [&](const Entry& e) { return e.first == schema; });
    if (found != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, found);
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
  recent_.emplace_front(schema, made);
  if (recent_.size() > kMost) recent_.pop_back();
  return std::shared_ptr<const BoundGrammar>(made);
}

std::size_t GrammarCache::size() const {
  const std::lock_guard lock(mutex_);
  return recent_.size();
}

}  // namespace program::server
