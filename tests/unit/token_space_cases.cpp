// SPDX-License-Identifier: Apache-2.0
// tests/unit/token_space_cases.cpp: tokens that take white space beside them along, beside those of llama.cpp.
#include <zrt/text/tokenizer.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <data/tokenizer/small_vocabularies.hpp>
#include <fstream>
#include <string>
#include <vector>

namespace token_space_cases_test {
namespace {

namespace text = zrt::text;
using Ids = std::vector<std::int32_t>;

TEST(TokenSpaceCases, IdsAreThoseOfLlamaCpp) {
  std::ifstream in(ZRT_TEST_DATA_DIR "/tokenizer/token_spaces.json");
  const auto file = nlohmann::json::parse(in);
  zrt::test::SmallVocabulary vocabulary;
  for (unsigned byte = 0; byte < 256; ++byte)
    vocabulary.add(std::string(text::detail::byte_letter(static_cast<unsigned char>(byte)).view()));
  for (const auto& token : file["tokens"])
    vocabulary.add(token[0].get<std::string>(), static_cast<text::TokenType>(token[1].get<int>()));
  vocabulary.spec.model = "gpt2";
  vocabulary.spec.bos = 257;
  vocabulary.spec.eos = 258;
  vocabulary.refresh();
  EXPECT_EQ(file["cases"].size(), 12u);
  for (const auto& c : file["cases"]) {
    vocabulary.spec.architecture = c["architecture"].get_ref<const std::string&>();
    vocabulary.spec.pre = c["pre"].get_ref<const std::string&>();
    vocabulary.spec.name = c["name"].get_ref<const std::string&>();
    const auto tokenizer = text::Tokenizer::make(vocabulary.spec);
    ASSERT_TRUE(tokenizer) << tokenizer.error().text();
    for (const bool parsed : {false, true})
      for (std::size_t i = 0; i < file["texts"].size(); ++i) {
        const auto ids = tokenizer->encode(file["texts"][i].get<std::string>(), {.parse_special = parsed});
        ASSERT_TRUE(ids);
        EXPECT_EQ(Ids(ids->begin(), ids->end()), c[parsed ? "parsed" : "plain"][i].get<Ids>())
            << c["name"] << ' ' << c["pre"] << ' ' << c["architecture"] << ": " << file["texts"][i];
      }
  }
}

}  // namespace
}  // namespace token_space_cases_test
