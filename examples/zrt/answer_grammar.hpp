// SPDX-License-Identifier: Apache-2.0
// examples/zrt/answer_grammar.hpp: the grammar that the command line asks an answer to match.
#pragma once

#include "options.hpp"
#include <zrt/text/grammar/json_schema.hpp>
#include <zrt/text/grammar/matcher.hpp>

namespace program {

/// A grammar with the vocabulary that it is bound to. It stays where it is: a request views it.
struct AnswerGrammar {
  zrt::text::grammar::Grammar grammar;
  zrt::text::grammar::TokenTrie trie;
  zrt::text::grammar::TokenGrammar bound{};
};

/// Null where the options name none.
[[nodiscard]] zrt::Result<std::unique_ptr<AnswerGrammar>> answer_grammar(const GenerateOptions& options,
                                                                         const zrt::text::Tokenizer& tokenizer);

}  // namespace program
