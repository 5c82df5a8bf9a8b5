// SPDX-License-Identifier: Apache-2.0
// tests/support/byte_vocabulary.hpp: a vocabulary of all bytes and of given texts, for grammars.
#pragma once

#include <zrt/text/grammar/token_trie.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace zrt::test {

/// A vocabulary of raw bytes, SentencePiece's way, so that any text can be a token.
struct Vocabulary {
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  std::vector<std::int32_t> types;
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::unique_ptr<text::grammar::TokenTrie> trie;

  explicit Vocabulary(std::vector<std::string> pieces) {
    texts = {"<unk>", "<s>", "</s>"};
    types = {2, 3, 3};
    constexpr std::string_view hex = "0123456789ABCDEF";
    for (unsigned b = 0; b < 256; ++b) {
      texts.push_back(std::string("<0x") + hex[b / 16] + hex[b % 16] + ">");
      types.push_back(6);
    }
    for (std::string& p : pieces) {
      texts.push_back(std::move(p));
      types.push_back(1);
    }
    views.assign(texts.begin(), texts.end());
    text::VocabularySpec spec;
    spec.model = "llama";
    spec.tokens = views;
    spec.types = types;
    static const std::vector<float> scores(1u << 18, 0.0f);
    spec.scores = Span<const float>(scores.data(), views.size());
    auto made = text::Tokenizer::make(spec);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().text());
    tokenizer = std::make_unique<text::Tokenizer>(std::move(*made));
    trie = std::make_unique<text::grammar::TokenTrie>(std::move(*text::grammar::TokenTrie::make(*tokenizer)));
  }
  [[nodiscard]] std::string bytes(std::size_t id) const {
    String out;
    EXPECT_TRUE(tokenizer->append_piece(static_cast<std::int32_t>(id), false, out).has_value());
    return std::string(out.view());
  }
};

}  // namespace zrt::test
