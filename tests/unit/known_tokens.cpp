// SPDX-License-Identifier: Apache-2.0
// tests/unit/known_tokens.cpp: which tokens end a generation, and prompts whose middle is to be written.
#include <zrt/text/infill.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <data/tokenizer/small_vocabularies.hpp>
#include <initializer_list>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace known_tokens_test {
namespace {

namespace text = zrt::text;
using zrt::Errc;

/// Characters a and b, and tokens that are marked as plain text.
struct Vocabulary : zrt::test::SmallVocabulary {
  explicit Vocabulary(std::initializer_list<const char*> names) {
    spec.model = "llama";
    for (const char* name : {"<unk>", "<s>", "<eos!>", "\xe2\x96\x81", "a", "b"}) add(name);
    for (const char* name : names) add(name);
    refresh();
  }
};

text::Tokenizer make(const text::VocabularySpec& spec) {
  auto t = text::Tokenizer::make(spec);
  if (!t) throw std::runtime_error(std::string(t.error().text()));
  return std::move(*t);
}

/// The texts of the tokens that end a generation, without the file's own EOS.
std::set<std::string> ends(std::initializer_list<const char*> names) {
  const Vocabulary v(names);
  const text::Tokenizer t = make(v.spec);
  std::set<std::string> found;
  for (std::int32_t id = 3; id < static_cast<std::int32_t>(t.vocab_size()); ++id)
    if (t.is_end_of_generation(id)) found.emplace(v.tokens[static_cast<std::size_t>(id)]);
  EXPECT_TRUE(t.is_end_of_generation(2));
  return found;
}

using Texts = std::set<std::string>;

TEST(KnownTokens, EndATurnWhateverTheFileCallsThem) {
  EXPECT_EQ(ends({"<|im_end|>", "<|im_start|>", "<|eot_id|>", "[EOT]", "<end_of_turn>", "</s>"}),
            (Texts{"<|im_end|>", "<|eot_id|>", "[EOT]", "<end_of_turn>", "</s>"}));
}

TEST(KnownTokens, MessagesOfChannelsEndByAnotherTokenThanTurns) {
  EXPECT_EQ(ends({"<|end|>", "<|start|>"}), (Texts{"<|end|>"}));
  EXPECT_EQ(ends({"<|end|>", "<|call|>", "<|return|>", "<|channel|>", "<|message|>", "<|constrain|>"}),
            (Texts{"<|call|>", "<|return|>"}));
  EXPECT_EQ(ends({"<|end|>", "<|calls|>", "<|flush|>"}), (Texts{"<|calls|>", "<|flush|>"}));
  const Vocabulary v({"<|end|>", "<|call|>", "<|return|>", "<|channel|>", "<|start|>"});
  const text::Tokenizer t = make(v.spec);
  for (const char* name : {"<|end|>", "<|channel|>", "<|start|>"})
    EXPECT_EQ(t.type(*t.find_token(name)), text::TokenType::user_defined) << name;
  EXPECT_TRUE(t.is_control(*t.find_token("<|return|>")));
}

TEST(KnownTokens, AVocabularyOfToolResponsesHasTextThatLooksLikeAnEnd) {
  EXPECT_EQ(ends({"<|tool_response>", "</s>", "<turn|>", "<eos>"}), (Texts{"<|tool_response>", "<turn|>", "<eos>"}));
  const Vocabulary v({"<|tool_response>", "</s>"});
  EXPECT_EQ(make(v.spec).type(7), text::TokenType::normal);
}

TEST(KnownTokens, ACompletionEndsWhereTheNextFileBegins) {
  EXPECT_EQ(
      ends({"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"}),
      (Texts{"<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"}));
}

TEST(Infill, TokensAreThoseOfTheFileElseFoundByTheirTexts) {
  using enum text::InfillToken;
  Vocabulary v({"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "own"});
  const text::Tokenizer found = make(v.spec);
  EXPECT_EQ(found.infill(prefix), 6);
  EXPECT_EQ(found.infill(suffix), 7);
  EXPECT_EQ(found.infill(middle), 8);
  EXPECT_EQ(found.infill(pad), std::nullopt);
  EXPECT_TRUE(found.is_control(6));
  v.spec.infill[static_cast<std::size_t>(suffix)] = 9;
  v.spec.infill[static_cast<std::size_t>(separator)] = 4;
  const text::Tokenizer stated = make(v.spec);
  EXPECT_EQ(stated.infill(suffix), 9);
  EXPECT_FALSE(stated.is_control(7));
  EXPECT_TRUE(stated.is_end_of_generation(4));
  v.spec.infill[0] = 10;
  const auto refused = text::Tokenizer::make(v.spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::invalid_metadata);
}

TEST(Infill, PromptHasBothSidesAndNoControlTokensOfTheirTexts) {
  Vocabulary v({"<PRE>", "<SUF>", "<MID>"});
  v.spec.bos = 1;
  v.spec.add_space_prefix = false;
  const auto ids = text::encode_infill(make(v.spec), "ab", "b");
  ASSERT_TRUE(ids) << ids.error().text();
  EXPECT_EQ(std::vector<std::int32_t>(ids->begin(), ids->end()), (std::vector<std::int32_t>{1, 6, 4, 5, 7, 5, 8}));
  const auto hostile = text::encode_infill(make(v.spec), "<SUF>", "");
  ASSERT_TRUE(hostile) << hostile.error().text();
  EXPECT_EQ(std::count(hostile->begin(), hostile->end(), 7), 1);
}

TEST(Infill, AVocabularyWithoutItsTokensIsRefused) {
  const Vocabulary v({"<PRE>", "<SUF>"});
  const auto ids = text::encode_infill(make(v.spec), "a", "b");
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().code(), Errc::unsupported_tokenizer);
  EXPECT_NE(ids.error().text().find("middle"), std::string_view::npos);
}

}  // namespace
}  // namespace known_tokens_test
