// SPDX-License-Identifier: Apache-2.0
// examples/zrt/answer_grammar.cpp: reads the grammar or the JSON schema of an answer.
#include "answer_grammar.hpp"
#include "output.hpp"

namespace program {

zrt::Result<std::unique_ptr<AnswerGrammar>> answer_grammar(const GenerateOptions& o,
                                                           const zrt::text::Tokenizer& tokenizer) {
  namespace grammar = zrt::text::grammar;
  const std::string& path = o.grammar.empty() ? o.json_schema : o.grammar;
  if (path.empty()) return nullptr;
  const auto source = read_file(path);
  if (!source) return zrt::pass(source);
  auto read = o.grammar.empty() ? grammar::read_json_schema(*source) : grammar::read_gbnf(*source);
  if (!read) {
    auto named = zrt::Error::of(read.error().code(), path, ": ", read.error().text());
    return std::unexpected(named.at_offset(read.error().offset()));
  }
  auto trie = grammar::TokenTrie::make(tokenizer);
  if (!trie) return zrt::pass(trie);
  auto made = std::make_unique<AnswerGrammar>(AnswerGrammar{std::move(*read), std::move(*trie)});
  made->bound = {&made->grammar, &made->trie};
  return made;
}

}  // namespace program
