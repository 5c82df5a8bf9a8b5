// SPDX-License-Identifier: Apache-2.0
// tests/unit/pre_tokenizer_cases.cpp: ids of every pre-tokenizer against llama.cpp's, the way back, and linear time.
#include <zrt/text/pre_tokenizers.hpp>
#include <zrt/text/tokenizer.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <data/tokenizer/small_vocabularies.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pre_tokenizer_cases_test {
namespace {

namespace text = zrt::text;
using Ids = std::vector<std::int32_t>;

const nlohmann::json& cases() {
  static const nlohmann::json file =
      nlohmann::json::parse(std::ifstream(ZRT_TEST_DATA_DIR "/tokenizer/pre_tokenizers.json"));
  return file;
}

/// A vocabulary of the file; tests/tools/pre_tokenizer_cases.py, which asked llama.cpp, orders its tokens so.
struct FileVocabulary : zrt::test::SmallVocabulary {
  FileVocabulary(const std::string& kind, std::string_view pre) {
    spec.model = pre == "whitespace" ? "whitespace" : "gpt2";
    spec.pre = pre;
    for (unsigned byte = 0; kind == "characters" && byte < 256; ++byte) {
      const auto spelled = text::detail::hex_text(static_cast<unsigned char>(byte));
      add({spelled.data(), spelled.size()}, text::TokenType::byte);
    }
    const nlohmann::json& words = cases().at("vocabularies").at(kind);
    for (const auto& token : words.at("base")) add(token.get<std::string>());
    for (const auto& pair : words.at("merges")) {
      const auto both = pair.get<std::string>();
      const std::size_t space = both.find(' ');
      merge(both.substr(0, space), both.substr(space + 1));
    }
    spec.bos = spec.eos = add("<s>", text::TokenType::control);
    spec.lowercase = false;
    refresh();
  }
};

Ids encode(const text::Tokenizer& tokenizer, std::string_view input, bool add_special) {
  const auto ids = tokenizer.encode(input, {.add_special = add_special});
  return ids ? Ids(ids->begin(), ids->end()) : Ids{};
}

TEST(PreTokenizerCases, IdsAreThoseOfLlamaCpp) {
  std::set<std::string_view> seen{""};  // what names none is as "default"
  for (const auto& c : cases().at("cases"))
    for (const auto& name : c.at("names")) {
      const FileVocabulary vocabulary(c.at("vocabulary"),
                                      seen.insert(name.get_ref<const std::string&>()).first->data());
      const auto tokenizer = text::Tokenizer::make(vocabulary.spec);
      ASSERT_TRUE(tokenizer) << name << tokenizer.error().text();
      for (std::size_t i = 0; i < c.at("ids").size(); ++i)
        EXPECT_EQ(encode(*tokenizer, cases().at("texts").at(i).get<std::string>(), true), c.at("ids").at(i).get<Ids>())
            << name << ' ' << i;
    }
  for (const auto& entry : text::kPreTokenizers) EXPECT_TRUE(seen.contains(entry.name)) << entry.name;
}

TEST(PreTokenizerCases, TraitsDecideWhatStandsAroundAText) {
  FileVocabulary lines("characters", "gemma4");
  lines.spec.add_bos = false;
  const auto gemma4 = text::Tokenizer::make(lines.spec);
  ASSERT_TRUE(gemma4);
  EXPECT_TRUE(gemma4->adds_bos());
  lines.spec.model = "gemma4";
  lines.spec.pre = {};
  const auto by_model = text::Tokenizer::make(lines.spec);
  ASSERT_TRUE(by_model);
  EXPECT_EQ(encode(*by_model, "a b\n\n\n\nx", true), encode(*gemma4, "a b\n\n\n\nx", true));

  FileVocabulary pair("bytes", "roberta-bpe");
  pair.spec.sep = pair.spec.bos;
  const auto roberta = text::Tokenizer::make(pair.spec);
  ASSERT_TRUE(roberta);
  zrt::Vector<std::int32_t> ids;
  ASSERT_TRUE(roberta->append_second("a", false, ids));
  EXPECT_EQ(Ids(ids.begin(), ids.end()), (Ids{*pair.spec.sep, roberta->find_token("a").value()}));
}

TEST(PreTokenizerCases, WordsBetweenWhiteSpaceAreInLowerCaseWhereTheFileSaysSo) {
  FileVocabulary words("characters", "whitespace");
  const auto as_written = text::Tokenizer::make(words.spec);
  words.spec.lowercase = true;
  const auto lower = text::Tokenizer::make(words.spec);
  ASSERT_TRUE(as_written && lower);
  EXPECT_EQ(encode(*lower, "HTML \xc3\x89\xc3\x89  x", false), encode(*as_written, "html \xc3\xa9\xc3\xa9 x", false));
  EXPECT_NE(encode(*as_written, "HTML", false), encode(*as_written, "html", false));
}

TEST(PreTokenizerCases, EveryNameIsInTheTableOfTheDocs) {
  std::ifstream in(ZRT_SOURCE_DIR "/docs/vocabularies.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const auto& entry : text::kPreTokenizers)
    EXPECT_TRUE(entry.name.empty() || page.contains('`' + std::string(entry.name) + '`')) << entry.name;
}

/// Gives each pre-tokenizer that loses nothing its tokenizer of a small vocabulary.
template <class Take> void for_each_lossless(const Take& take) {
  for (const auto& entry : text::kPreTokenizers) {
    if (entry.traits.drops_spaces) continue;
    const bool bytes = entry.traits.spelling == text::pre::Spelling::byte_letters;
    const FileVocabulary vocabulary(bytes ? "bytes" : "characters", entry.name);
    const auto tokenizer = text::Tokenizer::make(vocabulary.spec);
    ASSERT_TRUE(tokenizer) << entry.name;
    take(entry.name, *tokenizer);
  }
}

TEST(PreTokenizerCases, ValidTextComesBack) {
  const std::string_view parts[] = {
      "a",      "B",        "'s",           " ",        "\n",           "\r\n",        "\t",  "7",   "42",
      "/",      "\xc3\x89", "\xe6\x97\xa5", "\xcc\x81", "\xe3\x80\x80", "~",           "IMG", "x y", "\xf0\x9f\x98\x80",
      "123456", "  ",       "the",          "!",        "\xd9\xa1",     "<sentinel:3>"};
  for_each_lossless([&](std::string_view name, const text::Tokenizer& tokenizer) {
    std::uint32_t seed = 11;
    for (int round = 0; round < 60; ++round) {
      std::string input;
      for (int i = 0; i < 40; ++i) {
        seed = seed * 1664525u + 1013904223u;
        input += parts[(seed >> 16) % std::size(parts)];
      }
      const Ids ids = encode(tokenizer, input, false);
      const auto back = tokenizer.decode(ids, {.clean_spaces = false});
      ASSERT_TRUE(back);
      ASSERT_EQ(std::string(back->view()), input) << name;
    }
  });
}

/// The seconds that cutting `size` bytes of repeated `unit` takes, the best of `runs`.
double seconds_to_cut(const text::PreTokenizerEntry& entry, std::string_view unit, std::size_t size, int runs) {
  std::string input;
  while (input.size() < size) input += unit;
  double best = 1e9;
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    std::size_t bytes = 0;
    const auto take = [](void* context, std::string_view piece) noexcept {
      *static_cast<std::size_t*>(context) += piece.size();
      return true;
    };
    EXPECT_TRUE(text::detail::cut(entry.stages, input, {&bytes, take}));
    EXPECT_EQ(bytes, input.size());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

TEST(PreTokenizerCases, AMegabyteTakesEightTimesAnEighth) {
  std::set<const void*> seen;
  for (const auto& entry : text::kPreTokenizers) {
    if (!seen.insert(entry.stages.data()).second) continue;
    for (const std::string_view unit : {"a", "A", " ", "1", "!", "\xcc\x81", "A\xc3\xa9", "IMG"}) {
      const double eighth = seconds_to_cut(entry, unit, 1u << 17, 2);
      const double whole = seconds_to_cut(entry, unit, 1u << 20, 1);
      // 64 times where the time is quadratic; a timer's grain and a busy machine are allowed for.
      EXPECT_LT(whole, 24 * eighth + 0.02) << entry.name << " of " << unit;
    }
  }
}

}  // namespace
}  // namespace pre_tokenizer_cases_test
