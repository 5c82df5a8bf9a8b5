// SPDX-License-Identifier: Apache-2.0
// tests/unit/vocabulary_model_cases.cpp: ids of further vocabulary models against llama.cpp's, and the way back.
#include <zrt/text/tokenizer.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <data/tokenizer/small_vocabularies.hpp>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace vocabulary_model_cases_test {
namespace {

namespace text = zrt::text;
using zrt::Errc;
using zrt::test::SmallPlamo2;
using zrt::test::SmallRwkv;
using Ids = std::vector<std::int32_t>;

/// A case of tests/tools/vocabulary_model_cases.py, which asked llama.cpp.
struct CaseVocabulary : zrt::test::SmallVocabulary {
  explicit CaseVocabulary(const nlohmann::json& c) {
    spec.model = c["model"].get_ref<const std::string&>();
    spec.pre = c.contains("pre") ? std::string_view(c["pre"].get_ref<const std::string&>()) : "";
    const bool scored = c.contains("scores");
    for (std::size_t id = 0; id < c["tokens"].size(); ++id)
      add(c["tokens"][id].get<std::string>(), static_cast<text::TokenType>(c["types"][id].get<int>()),
          scored ? c["scores"][id].get<float>() : 0.0f);
    if (c.contains("merges"))
      for (const auto& pair : c["merges"]) merges.push_back(pair.get_ref<const std::string&>());
    spec.bos = c["ids"]["bos"].get<std::int32_t>();
    spec.eos = c["ids"]["eos"].get<std::int32_t>();
    if (c.contains("flags")) spec.add_bos = spec.add_eos = true;
    refresh();
  }
};

Ids encode(const text::Tokenizer& tokenizer, std::string_view input, text::EncodeOptions options = {}) {
  const auto ids = tokenizer.encode(input, options);
  return ids ? Ids(ids->begin(), ids->end()) : Ids{-1};
}

std::string decode(const text::Tokenizer& tokenizer, const Ids& ids) {
  const auto back = tokenizer.decode(ids, {.special = true, .clean_spaces = false});
  return back ? std::string(back->view()) : "error";
}

text::Tokenizer make(const zrt::test::SmallVocabulary& vocabulary) {
  return text::Tokenizer::make(vocabulary.spec).value();
}

/// The words of the refusal of `vocabulary`; empty where it is taken.
std::string refusal(zrt::test::SmallVocabulary& vocabulary) {
  vocabulary.refresh();
  const auto made = text::Tokenizer::make(vocabulary.spec);
  if (made) return "";
  EXPECT_EQ(made.error().code(), Errc::invalid_metadata);
  return std::string(made.error().text());
}

TEST(VocabularyModelCases, IdsAreThoseOfLlamaCpp) {
  std::ifstream in(ZRT_TEST_DATA_DIR "/tokenizer/models.json");
  const auto cases = nlohmann::json::parse(in);
  EXPECT_EQ(cases.size(), 3u);
  for (const auto& c : cases) {
    const CaseVocabulary vocabulary(c);
    const auto tokenizer = text::Tokenizer::make(vocabulary.spec);
    ASSERT_TRUE(tokenizer) << tokenizer.error().text();
    for (std::size_t i = 0; i < c["texts"].size(); ++i) {
      SCOPED_TRACE(c["model"].get<std::string>() + " text " + std::to_string(i));
      const auto input = c["texts"][i].get<std::string>();
      EXPECT_EQ(encode(*tokenizer, input, {.add_special = true}), c["plain"][i].get<Ids>());
      EXPECT_EQ(encode(*tokenizer, input, {.add_special = true, .parse_special = true}), c["parsed"][i].get<Ids>());
      const bool lossless = input.find("<dna>") == input.npos && !input.starts_with("\xef\xbb\xbf");
      if (lossless) {
        EXPECT_EQ(decode(*tokenizer, encode(*tokenizer, input)), input);
      }
    }
  }
}

TEST(VocabularyModelCases, SequencesAreWrittenWithoutTheirMark) {
  std::ifstream in(ZRT_TEST_DATA_DIR "/tokenizer/models.json");
  const auto cases = nlohmann::json::parse(in);
  const CaseVocabulary vocabulary(cases[2]);
  const text::Tokenizer tokenizer = make(vocabulary);
  const Ids ids = encode(tokenizer, "a <dna>acgtacCCCCCCnnnnnnacgt</dna>b");
  EXPECT_EQ(decode(tokenizer, ids), "a <dna>ACGTACCCCCCC<oov>ACGTAA</dna>b");
}

TEST(VocabularyModelCases, BytesThatAreNoUtf8ComeBack) {
  const SmallRwkv rwkv;
  const SmallPlamo2 plamo;
  const std::string input = "hello \xff\xc3(\xe2\x82 \xf0\x9f\x98\x80";
  for (const zrt::test::SmallVocabulary* vocabulary : {static_cast<const zrt::test::SmallVocabulary*>(&rwkv),
                                                       static_cast<const zrt::test::SmallVocabulary*>(&plamo)}) {
    const text::Tokenizer tokenizer = make(*vocabulary);
    EXPECT_EQ(decode(tokenizer, encode(tokenizer, input)), input);
  }
}

TEST(VocabularyModelCases, ControlTokensAreFoundWhereTheyAreAskedForAlone) {
  const SmallRwkv rwkv;
  const text::Tokenizer r = make(rwkv);
  EXPECT_EQ(encode(r, "<s>", {.parse_special = true}), (Ids{0}));
  EXPECT_EQ(encode(r, "<s>"), (Ids{'<' + 1, 's' + 1, '>' + 1}));
  const SmallPlamo2 vocabulary;
  const text::Tokenizer p = make(vocabulary);
  EXPECT_EQ(encode(p, "<|plamo:eos|>", {.parse_special = true}), (Ids{2}));
  EXPECT_EQ(encode(p, "<|plamo:eos|>").front(), '<' + 4);
  EXPECT_EQ(p.bos(), 1);
  EXPECT_EQ(p.eos(), 2);
}

TEST(VocabularyModelCases, AByteWithoutATokenIsUnknownOrNothing) {
  zrt::test::SmallVocabulary vocabulary;
  vocabulary.spec.model = "rwkv";
  const std::int32_t a = vocabulary.add("a");
  vocabulary.refresh();
  EXPECT_EQ(encode(make(vocabulary), "xax"), (Ids{a}));
  vocabulary.spec.unk = vocabulary.add("?", text::TokenType::unknown);
  vocabulary.refresh();
  EXPECT_EQ(encode(make(vocabulary), "xax"), (Ids{1, a, 1}));
}

TEST(VocabularyModelCases, OfCutsWithEqualSumsTheLongestFirstTokenCounts) {
  SmallPlamo2 vocabulary;
  const std::int32_t ab = vocabulary.add("ab", text::TokenType::normal, -2);
  vocabulary.add("bc", text::TokenType::normal, -2);
  vocabulary.add("a", text::TokenType::normal, -2);
  const std::int32_t c = vocabulary.add("c", text::TokenType::normal, -2);
  vocabulary.refresh();
  EXPECT_EQ(encode(make(vocabulary), "abc"), (Ids{ab, c}));
}

TEST(VocabularyModelCases, FaultsAreRefused) {
  for (const char* bad : {"ends \\", "\\x4", "\\xg0", "\\x"}) {
    SmallRwkv vocabulary;
    vocabulary.add(bad);
    EXPECT_NE(refusal(vocabulary).find("has an escape that is none"), std::string::npos) << bad;
  }
  SmallPlamo2 no_byte;
  no_byte.tokens[4 + 'a'] = "<0x62>";
  EXPECT_EQ(refusal(no_byte), "the vocabulary has no token for the byte 97");
  SmallPlamo2 no_scores;
  no_scores.scores.pop_back();
  EXPECT_NE(refusal(no_scores).find(" scores"), std::string::npos);
}

}  // namespace
}  // namespace vocabulary_model_cases_test
