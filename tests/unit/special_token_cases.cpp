// SPDX-License-Identifier: Apache-2.0
// tests/unit/special_token_cases.cpp: ends of generations and tokens of infill prompts beside those of llama.cpp.
#include <zrt/text/tokenizer.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <data/tokenizer/small_vocabularies.hpp>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace special_token_cases_test {
namespace {

namespace text = zrt::text;
using Ids = std::vector<std::int32_t>;

/// A case of tests/tools/special_token_cases.py: the letters of bytes and the tokens of one family.
struct CaseVocabulary : zrt::test::SmallVocabulary {
  explicit CaseVocabulary(const nlohmann::json& c) {
    spec.model = "gpt2";
    spec.pre = "gpt-2";
    for (unsigned byte = 0; byte < 256; ++byte)
      add(std::string(text::detail::byte_letter(static_cast<unsigned char>(byte)).view()));
    std::map<std::string, std::int32_t> of;
    for (const auto& token : c["tokens"]) {
      const auto spelled = token[0].get<std::string>();
      of[spelled] = add(spelled, static_cast<text::TokenType>(token[1].get<int>()));
      all += spelled;
    }
    for (const auto& [key, spelled] : c["ids"].items()) *field(key) = of.at(spelled.get<std::string>());
    refresh();
  }

  std::string all;  ///< the texts of the tokens, one after the other

 private:
  std::optional<std::int32_t>* field(const std::string& key) {
    if (key == "eos") return &spec.eos;
    if (key == "eot") return &spec.eot;
    const std::map<std::string, text::InfillToken> infill{
        {"fim_pre", text::InfillToken::prefix},     {"fim_suf", text::InfillToken::suffix},
        {"fim_mid", text::InfillToken::middle},     {"fim_pad", text::InfillToken::pad},
        {"fim_rep", text::InfillToken::repository}, {"fim_sep", text::InfillToken::separator},
        {"prefix", text::InfillToken::prefix},      {"suffix", text::InfillToken::suffix},
        {"middle", text::InfillToken::middle}};
    return &spec.infill[static_cast<std::size_t>(infill.at(key))];
  }
};

Ids encode(const text::Tokenizer& tokenizer, const std::string& input, bool parse_special) {
  const auto ids = tokenizer.encode(input, {.parse_special = parse_special});
  return ids ? Ids(ids->begin(), ids->end()) : Ids{-1};
}

Ids ids_of(std::optional<std::int32_t> id) { return id ? Ids{*id} : Ids{}; }

Ids ends_of(const text::Tokenizer& tokenizer) {
  Ids ends;
  for (std::int32_t id = 0; static_cast<std::size_t>(id) < tokenizer.vocab_size(); ++id)
    if (tokenizer.is_end_of_generation(id)) ends.push_back(id);
  return ends;
}

}  // namespace

TEST(SpecialTokenCases, EveryRoleIsThatOfLlamaCpp) {
  std::ifstream in(ZRT_TEST_DATA_DIR "/tokenizer/special_tokens.json");
  const auto cases = nlohmann::json::parse(in);
  EXPECT_EQ(cases.size(), 16u);
  for (const auto& c : cases) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const CaseVocabulary vocabulary(c);
    const auto tokenizer = text::Tokenizer::make(vocabulary.spec);
    ASSERT_TRUE(tokenizer) << tokenizer.error().text();
    EXPECT_EQ(encode(*tokenizer, vocabulary.all, false), c["plain"].get<Ids>());
    EXPECT_EQ(encode(*tokenizer, vocabulary.all, true), c["parsed"].get<Ids>());
    const auto infill = [&](text::InfillToken token) { return ids_of(tokenizer->infill(token)); };
    const std::map<std::string, Ids> roles{{"EOS", ids_of(tokenizer->eos())},
                                           {"EOT", ids_of(tokenizer->eot())},
                                           {"EOM", ids_of(tokenizer->eom())},
                                           {"FIM PRE", infill(text::InfillToken::prefix)},
                                           {"FIM SUF", infill(text::InfillToken::suffix)},
                                           {"FIM MID", infill(text::InfillToken::middle)},
                                           {"FIM PAD", infill(text::InfillToken::pad)},
                                           {"FIM REP", infill(text::InfillToken::repository)},
                                           {"FIM SEP", infill(text::InfillToken::separator)},
                                           {"EOG", ends_of(*tokenizer)}};
    for (const auto& [role, ids] : roles) EXPECT_EQ(ids, c["roles"][role].get<Ids>()) << role;
  }
}

}  // namespace special_token_cases_test
