// SPDX-License-Identifier: Apache-2.0
// tests/unit/tokenizer.cpp: both tokenizer models on small vocabularies, their errors, and streaming.
// test-set: smoke brief
#include <zrt/text/detokenizer.hpp>
#include <zrt/text/tokenizer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <data/tokenizer/small_vocabularies.hpp>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tokenizer_test {
namespace {

namespace text = zrt::text;
using zrt::Errc;
using zrt::test::SmallByteBpe;
using zrt::test::SmallSentencePiece;
using zrt::test::SmallUnigram;
using zrt::test::SmallVocabulary;
using zrt::test::SmallWordPiece;
using Ids = std::vector<std::int32_t>;
using Pieces = std::vector<std::string>;

Ids encode(const text::Tokenizer& t, std::string_view input, text::EncodeOptions options = {}) {
  auto ids = t.encode(input, options);
  if (!ids) {
    ADD_FAILURE() << ids.error().text();
    return {};
  }
  return {ids->begin(), ids->end()};
}

/// The ids of `input` by the texts of their tokens.
Pieces pieces(const text::Tokenizer& t, std::string_view input, text::EncodeOptions options = {}) {
  Pieces texts;
  for (const std::int32_t id : encode(t, input, options)) texts.emplace_back(t.token_text(id));
  return texts;
}

std::string decode(const text::Tokenizer& t, const Ids& ids, text::DecodeOptions options) {
  auto out = t.decode(ids, options);
  return out ? std::string(out->view()) : "error: " + std::string(out.error().text());
}

/// Decodes without dropping spaces before punctuation.
std::string decode(const text::Tokenizer& t, const Ids& ids) {
  text::DecodeOptions options;
  options.clean_spaces = false;
  return decode(t, ids, options);
}

text::Tokenizer make(const SmallVocabulary& vocabulary) { return text::Tokenizer::make(vocabulary.spec).value(); }

const std::string kMark = "\xe2\x96\x81";

TEST(TokenizerSentencePiece, MergesByScore) {
  const SmallSentencePiece vocabulary;
  const auto t = make(vocabulary);
  EXPECT_EQ(pieces(t, ""), Pieces{});
  EXPECT_EQ(pieces(t, "hello"), (Pieces{kMark + "hello"}));
  EXPECT_EQ(pieces(t, "hello world"), (Pieces{kMark + "hello", kMark + "world"}));
  EXPECT_EQ(pieces(t, " hello"), (Pieces{kMark, kMark + "hello"}));
  EXPECT_EQ(pieces(t, "aaaaa"), (Pieces{kMark, "aaaa", "a"}));
  EXPECT_EQ(pieces(t, "lllo"), (Pieces{kMark, "ll", "lo"}));
  EXPECT_EQ(pieces(t, "\xc3\xa9"), (Pieces{kMark, "\xc3\xa9"}));
}

TEST(TokenizerSentencePiece, UnknownCharactersBecomeBytes) {
  const SmallSentencePiece vocabulary;
  const auto t = make(vocabulary);
  EXPECT_EQ(pieces(t,
                   "\xe6\x97\xa5"
                   "a\xff"),
            (Pieces{kMark, "<0xE6>", "<0x97>", "<0xA5>", "a", "<0xFF>"}));
  EXPECT_EQ(pieces(t, std::string_view("\0", 1)), (Pieces{kMark, "<0x00>"}));
}

TEST(TokenizerSentencePiece, SpecialTokens) {
  const SmallSentencePiece vocabulary;
  const auto t = make(vocabulary);
  EXPECT_EQ(pieces(t, "a", {.add_special = true}), (Pieces{"<s>", kMark, "a"}));
  EXPECT_EQ(pieces(t, "", {.add_special = true}), (Pieces{"<s>"}));
  // User-defined tokens always cut the text, the longer one first; text after a special token gets its space.
  EXPECT_EQ(pieces(t, "a<tool>b"), (Pieces{kMark, "a", "<tool>", kMark, "<0x62>"}));
  EXPECT_EQ(pieces(t, "<tool>x<tool>"), (Pieces{"<tool>x", "<tool>"}));
  EXPECT_EQ(pieces(t, "<s>a").size(), 5u);
  EXPECT_EQ(pieces(t, "<s>a</s>", {.parse_special = true}), (Pieces{"<s>", kMark, "a", "</s>"}));
  EXPECT_EQ(pieces(t, "<|im_end|>", {.parse_special = true}), (Pieces{"<|im_end|>"}));
  EXPECT_GT(pieces(t, "<|im_end|>").size(), 1u);
  EXPECT_TRUE(t.is_end_of_generation(*t.find_token("<|im_end|>")));
  EXPECT_TRUE(t.is_control(*t.find_token("<|im_end|>")));
  EXPECT_TRUE(t.is_end_of_generation(2));
  EXPECT_FALSE(t.is_end_of_generation(1));
  EXPECT_FALSE(t.is_end_of_generation(-1));
  EXPECT_FALSE(t.is_end_of_generation(std::numeric_limits<std::int32_t>::max()));
  EXPECT_EQ(t.bos(), 1);
  EXPECT_EQ(t.eos(), 2);
}

TEST(TokenizerSentencePiece, Switches) {
  SmallSentencePiece vocabulary;
  vocabulary.spec.add_bos = false;
  vocabulary.spec.add_eos = true;
  vocabulary.spec.add_space_prefix = false;
  const auto t = make(vocabulary);
  EXPECT_EQ(pieces(t, "hello", {.add_special = true}), (Pieces{"hello", "</s>"}));
  EXPECT_EQ(decode(t, encode(t, " hello")), " hello");
}

TEST(TokenizerSentencePiece, Decodes) {
  const SmallSentencePiece vocabulary;
  const auto t = make(vocabulary);
  const Ids ids = encode(t, "hello world", {.add_special = true});
  EXPECT_EQ(decode(t, ids), " hello world");
  EXPECT_EQ(decode(t, ids, {.special = true}), "<s> hello world");
  EXPECT_EQ(decode(t, encode(t, "hello world")), "hello world");
  EXPECT_EQ(decode(t, encode(t, "hello world"), {.at_start = false}), " hello world");
  EXPECT_EQ(decode(t, encode(t, "  a")), "  a");
  EXPECT_EQ(decode(t, {}), "");
  EXPECT_EQ(t.decode(Ids{-1}).error().code(), Errc::invalid_argument);
  EXPECT_EQ(t.decode(Ids{0, static_cast<std::int32_t>(t.vocab_size())}).error().code(), Errc::invalid_argument);
}

TEST(TokenizerByteBpe, MergesByRank) {
  const SmallByteBpe vocabulary;
  const auto t = make(vocabulary);
  EXPECT_EQ(pieces(t, "hello hello"), (Pieces{"hello", "\xc4\xa0hello"}));
  EXPECT_EQ(pieces(t, "aaaaa"), (Pieces{"aaaa", "a"}));
  EXPECT_EQ(pieces(t, "1212"), (Pieces{"12", "12"}));
  EXPECT_EQ(pieces(t, "world"), (Pieces{"w", "or", "ld"}));
  EXPECT_EQ(encode(t, "\xc3\xa9").size(), 1u);
  EXPECT_EQ(pieces(t, "a<tool>b<|endoftext|>", {.parse_special = true}), (Pieces{"a", "<tool>", "b", "<|endoftext|>"}));
  EXPECT_EQ(pieces(t, "<tool>x"), (Pieces{"<tool>x"}));
  EXPECT_EQ(pieces(t, "a", {.add_special = true}), (Pieces{"a"}));
  EXPECT_EQ(decode(t, encode(t, " hello")), " hello");
}

TEST(TokenizerByteBpe, PreTokenizersDiffer) {
  const SmallByteBpe gpt2("gpt-2"), llama3("llama-bpe"), qwen2("qwen2");
  EXPECT_EQ(pieces(make(qwen2), "12"), (Pieces{"1", "2"}));
  EXPECT_EQ(pieces(make(llama3), "1212"), (Pieces{"12", "1", "2"}));
  EXPECT_EQ(pieces(make(llama3), "world"), (Pieces{"world"}));
  EXPECT_EQ(pieces(make(qwen2), "world"), (Pieces{"w", "or", "ld"}));
  EXPECT_EQ(pieces(make(llama3), "a", {.add_special = true}), (Pieces{"<|endoftext|>", "a"}));
  EXPECT_EQ(pieces(make(gpt2), "a", {.add_special = true}), (Pieces{"a"}));
}

TEST(TokenizerByteBpe, CleansSpacesAsTheVocabularyAsks) {
  const SmallByteBpe gpt2("gpt-2"), qwen2("qwen2");
  const std::string input = "a , b . c ! d ? e 's 'm 're 've 't ' f ' ' g";
  EXPECT_EQ(decode(make(gpt2), encode(make(gpt2), input), {}), "a, b. c! d? e's'm're've 't'f'' g");
  EXPECT_EQ(decode(make(gpt2), encode(make(gpt2), input)), input);
  EXPECT_EQ(decode(make(qwen2), encode(make(qwen2), input), {}), input);
}

TEST(TokenizerByteBpe, MergesOutsideTheVocabularyAreLeftOut) {
  SmallByteBpe vocabulary;
  vocabulary.merges.insert(vocabulary.merges.begin(), "x y");
  vocabulary.refresh();
  EXPECT_EQ(pieces(make(vocabulary), "xy"), (Pieces{"x", "y"}));
}

TEST(TokenizerByteBpe, BytesWithoutATokenGiveNothing) {
  SmallByteBpe vocabulary;
  vocabulary.tokens[static_cast<unsigned char>('q')] = "no letter";
  EXPECT_EQ(pieces(make(vocabulary), "aqa"), (Pieces{"a", "a"}));
}

struct Fault {
  const char* name;
  Errc code;
  const char* words;
  void (*break_it)(SmallVocabulary&);
};

TEST(TokenizerWordPiece, CutsWordsIntoTheLongestTokens) {
  const SmallWordPiece vocabulary;
  const auto t = make(vocabulary);
  const auto texts_of = [&](std::string_view input, text::EncodeOptions options = {}) {
    std::string all;
    for (const std::int32_t id : encode(t, input, options)) all += std::string(t.token_text(id)) + '|';
    return all;
  };
  const std::string mark = "\xe2\x96\x81";
  EXPECT_EQ(texts_of("hello Hell\xc3\xb3"), mark + "hello|" + mark + "hello|");
  EXPECT_EQ(texts_of("helle  a"), mark + "he|l|l|e|" + mark + "a|");
  EXPECT_EQ(texts_of("hex"), "[UNK]|") << "a word is cut whole or not at all";
  EXPECT_EQ(texts_of("a!he\xe4\xbd\xa0"
                     "a"),
            mark + "a|" + mark + "!|" + mark + "he|" + mark + "\xe4\xbd\xa0|" + mark + "a|");
  EXPECT_EQ(texts_of("\xed\x95\x9c"), mark + "|\xe1\x84\x92|") << "the first part of a syllable";
  EXPECT_EQ(texts_of("a\xff\x01\xe2\x80\x8b"
                     "a"),
            mark + "a|a|")
      << "neither controls nor broken bytes part words";
  EXPECT_EQ(texts_of("[SEP]a", {.add_special = true}), "[CLS]|[UNK]|[UNK]|[UNK]|" + mark + "a|[SEP]|");
  EXPECT_EQ(texts_of("[SEP]a", {.add_special = true, .parse_special = true}), "[CLS]|[SEP]|" + mark + "a|[SEP]|");
  EXPECT_EQ(texts_of(""), "");

  auto pair = t.encode("a", {.add_special = true});
  ASSERT_TRUE(pair && t.append_second("hello", false, *pair));
  const std::vector<std::int32_t> ids(pair->begin(), pair->end());
  ASSERT_EQ(ids.size(), 5u);
  EXPECT_EQ(ids[2], *vocabulary.spec.sep);
  EXPECT_EQ(ids[4], *vocabulary.spec.sep);
}

TEST(TokenizerWordPiece, KeepsCaseAndAccentsWhereTheVocabularyDoes) {
  SmallWordPiece vocabulary;
  vocabulary.add("\xe2\x96\x81H\xc3\xa9");
  vocabulary.spec.lowercase = false;
  vocabulary.refresh();
  const auto t = make(vocabulary);
  EXPECT_EQ(encode(t, "H\xc3\xa9"), (Ids{static_cast<std::int32_t>(t.vocab_size()) - 1}));
  EXPECT_EQ(encode(t, "h\xc3\xa9"), (Ids{*vocabulary.spec.unk}));
}

TEST(TokenizerWordPiece, LongWordsTakeLinearTime) {
  SmallWordPiece vocabulary;
  vocabulary.add(std::string(100, 'a') + 'b');
  vocabulary.refresh();
  const auto t = make(vocabulary);
  for (const char* piece : {"a", "l", "x", " ", "!", "\xed\x95\x9c"}) {
    std::string input;
    while (input.size() < 50000) input += piece;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_LE(encode(t, input).size(), input.size() + 1);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << piece;
  }
}

TEST(TokenizerUnigram, TakesTheLikeliestCut) {
  SmallUnigram vocabulary;
  const auto t = make(vocabulary);
  const auto texts_of = [&](std::string_view input, text::EncodeOptions options = {}) {
    std::string all;
    for (const std::int32_t id : encode(t, input, options)) all += std::string(t.token_text(id)) + '|';
    return all;
  };
  const std::string mark = "\xe2\x96\x81";
  EXPECT_EQ(texts_of("  hello   hello "), mark + "hello|" + mark + "hello|");
  EXPECT_EQ(texts_of("ohello"), mark + "|o|hell|o|") << "-4 and -5 are more than -7 and -8";
  EXPECT_EQ(texts_of("hexyzw"), mark + "|he|<unk>|w|") << "neighbours that are unknown are one token";
  EXPECT_EQ(texts_of("o<tool>o", {.add_special = true}), mark + "|o|<tool>|" + mark + "|o|</s>|");
  EXPECT_EQ(texts_of("\xff"), mark + "|<unk>|");
  EXPECT_EQ(texts_of("   "), "");
  EXPECT_EQ(texts_of(""), "");
  EXPECT_EQ(t.decode(Ids{4, 4}).value().view(), "hello hello");
}

TEST(TokenizerUnigram, RefusesBadVocabularies) {
  const Fault faults[] = {
      {"no unk", Errc::invalid_metadata, "unk token", [](SmallVocabulary& v) { v.spec.unk = 1 << 30; }},
      {"scores short", Errc::invalid_metadata, "scores",
       [](SmallVocabulary& v) { v.spec.scores = v.spec.scores.first(3); }},
      {"score nan", Errc::invalid_metadata, "score of token 4",
       [](SmallVocabulary& v) { v.scores[4] = std::nanf(""); }},
      {"map short", Errc::invalid_metadata, "precompiled_charsmap has 3 bytes",
       [](SmallVocabulary& v) {
         static constexpr std::uint8_t kBytes[] = {1, 0, 0};
         v.spec.character_map = kBytes;
       }},
      {"map long", Errc::invalid_metadata, "precompiled_charsmap has 8 bytes",
       [](SmallVocabulary& v) {
         static constexpr std::uint8_t kBytes[] = {8, 0, 0, 0, 0, 0, 0, 0};
         v.spec.character_map = kBytes;
       }},
  };
  for (const Fault& fault : faults) {
    SmallUnigram vocabulary;
    fault.break_it(vocabulary);
    const auto made = text::Tokenizer::make(vocabulary.spec);
    ASSERT_FALSE(made) << fault.name;
    EXPECT_EQ(made.error().code(), fault.code) << fault.name;
    EXPECT_NE(made.error().text().find(fault.words), std::string_view::npos) << made.error().text();
  }
}

TEST(TokenizerUnigram, LongTextsTakeLinearTime) {
  SmallUnigram vocabulary;
  vocabulary.add(std::string(100, 'l') + 'e', text::TokenType::normal, -3);
  vocabulary.refresh();
  const auto t = make(vocabulary);
  for (const char* piece : {"l", "x", " ", "hello", "\xff"}) {
    std::string input;
    while (input.size() < 50000) input += piece;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_LE(encode(t, input).size(), input.size() + 1);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << piece;
  }
}

TEST(Tokenizer, OfEqualTextsTheLastIdCounts) {
  SmallByteBpe vocabulary;
  const std::int32_t twin = vocabulary.add("a");
  vocabulary.refresh();
  EXPECT_EQ(encode(make(vocabulary), "xa"), (Ids{'x', twin}));
}

TEST(Tokenizer, Moves) {
  const SmallByteBpe vocabulary;
  auto first = make(vocabulary);
  const text::Tokenizer second = std::move(first);
  EXPECT_EQ(pieces(second, "hello"), (Pieces{"hello"}));
}

TEST(Tokenizer, RefusesBadVocabularies) {
  const Fault sentence_piece[] = {
      {"model", Errc::unsupported_tokenizer, "'none'", [](SmallVocabulary& v) { v.spec.model = "none"; }},
      {"no tokens", Errc::invalid_metadata, "no tokens", [](SmallVocabulary& v) { v.spec.tokens = {}; }},
      {"types short", Errc::invalid_metadata, "token types",
       [](SmallVocabulary& v) { v.spec.types = v.spec.types.first(3); }},
      {"type high", Errc::invalid_metadata, "type 7", [](SmallVocabulary& v) { v.types[5] = 7; }},
      {"type low", Errc::invalid_metadata, "type -1", [](SmallVocabulary& v) { v.types[5] = -1; }},
      {"byte text", Errc::invalid_metadata, "byte token", [](SmallVocabulary& v) { v.tokens[5] = "<0xZZ>"; }},
      {"scores short", Errc::invalid_metadata, "scores",
       [](SmallVocabulary& v) { v.spec.scores = v.spec.scores.first(3); }},
      {"score nan", Errc::invalid_metadata, "score of token 4",
       [](SmallVocabulary& v) { v.scores[4] = std::nanf(""); }},
      {"bos high", Errc::invalid_metadata, "bos token is 1000000", [](SmallVocabulary& v) { v.spec.bos = 1000000; }},
      {"eos low", Errc::invalid_metadata, "eos token is -1", [](SmallVocabulary& v) { v.spec.eos = -1; }},
      {"eot high", Errc::invalid_metadata, "eot token", [](SmallVocabulary& v) { v.spec.eot = 1 << 30; }},
      {"eom high", Errc::invalid_metadata, "eom token", [](SmallVocabulary& v) { v.spec.eom = 1 << 30; }},
      {"unk high", Errc::invalid_metadata, "unk token", [](SmallVocabulary& v) { v.spec.unk = 1 << 30; }},
      {"pad high", Errc::invalid_metadata, "pad token", [](SmallVocabulary& v) { v.spec.pad = 1 << 30; }},
  };
  for (const Fault& fault : sentence_piece) {
    SmallSentencePiece vocabulary;
    fault.break_it(vocabulary);
    const auto made = text::Tokenizer::make(vocabulary.spec);
    ASSERT_FALSE(made) << fault.name;
    EXPECT_EQ(made.error().code(), fault.code) << fault.name;
    EXPECT_NE(made.error().text().find(fault.words), std::string_view::npos) << made.error().text();
  }
  const Fault byte_bpe[] = {
      {"pre", Errc::unsupported_tokenizer, "'gpt-9'", [](SmallVocabulary& v) { v.spec.pre = "gpt-9"; }},
      {"merge without space", Errc::invalid_metadata, "merge 1 ", [](SmallVocabulary& v) { v.merges[1] = "ab"; }},
      {"merge with one side", Errc::invalid_metadata, "merge 1 ", [](SmallVocabulary& v) { v.merges[1] = "ab "; }},
      {"empty merge", Errc::invalid_metadata, "merge 0 ", [](SmallVocabulary& v) { v.merges[0] = ""; }},
      {"strange merges", Errc::invalid_metadata, "none of the",
       [](SmallVocabulary& v) {
         for (auto& m : v.merges) m = "no merge";
       }},
      {"add_bos", Errc::invalid_metadata, "add_bos",
       [](SmallVocabulary& v) {
         v.spec.bos.reset();
         v.spec.add_bos = true;
       }},
      {"add_eos", Errc::invalid_metadata, "add_eos",
       [](SmallVocabulary& v) {
         v.spec.eos.reset();
         v.spec.add_eos = true;
       }},
  };
  for (const Fault& fault : byte_bpe) {
    SmallByteBpe vocabulary;
    fault.break_it(vocabulary);
    const auto made = text::Tokenizer::make(vocabulary.spec);
    ASSERT_FALSE(made) << fault.name;
    EXPECT_EQ(made.error().code(), fault.code) << fault.name;
    EXPECT_NE(made.error().text().find(fault.words), std::string_view::npos) << made.error().text();
  }
}

TEST(Tokenizer, ToleratesOddVocabularies) {
  SmallSentencePiece vocabulary;
  vocabulary.tokens[270] = "";
  for (float& score : vocabulary.scores) score = std::numeric_limits<float>::infinity();
  vocabulary.scores[260] = -0.0f;
  const auto t = make(vocabulary);
  EXPECT_EQ(decode(t, encode(t, "hello  world")), "hello  world");
  const std::string_view one[] = {"x"};
  text::VocabularySpec tiny{.model = "llama", .tokens = one};
  const auto single = text::Tokenizer::make(tiny);
  ASSERT_TRUE(single);
  EXPECT_EQ(encode(*single, "ax"), (Ids{0, 0, 0, 0, 0}));  // the unknown token for each byte without one
}

TEST(Tokenizer, LongTextsTakeAlmostLinearTime) {
  const SmallSentencePiece pieces_vocabulary;
  const SmallByteBpe bytes_vocabulary;
  for (const auto& t : {make(pieces_vocabulary), make(bytes_vocabulary)}) {
    for (const char c : {'a', ' ', '\n', '<', '1', '\''}) {
      const std::string input(200000, c);
      const auto start = std::chrono::steady_clock::now();
      EXPECT_EQ(decode(t, encode(t, input)), input);
      // Quadratic time would be minutes; this bound holds under sanitizers too.
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << c;
    }
  }
}

TEST(TokenizerSentencePiece, TextsOfOthersHoldNoControlTokens) {
  const SmallSentencePiece vocabulary;
  const auto t = make(vocabulary);
  const std::string prompt = "<s>a</s>a</s>";
  const auto pieces_of = [&](std::string_view marks) {
    bool bytes[13];
    for (std::size_t i = 0; i < 13; ++i) bytes[i] = marks[i] == 'x';
    return pieces(t, prompt, {.parse_special = true, .given = {bytes, 13}});
  };
  const auto ends = [&](std::string_view marks) {
    const Pieces found = pieces_of(marks);
    return std::count(found.begin(), found.end(), "</s>");
  };
  EXPECT_EQ(ends("............."), 2);
  EXPECT_EQ(ends("...xxxxx....."), 1);
  EXPECT_EQ(ends(".......x....."), 1);
  EXPECT_EQ(ends("...xxxxxxxxxx"), 0);
  // A token of the vocabulary's own texts steers nothing.
  bool all[6] = {true, true, true, true, true, true};
  EXPECT_EQ(pieces(t, "<tool>", {.parse_special = true, .given = all}), (Pieces{"<tool>"}));
}

/// Texts of `size` letters from the first `letters` of the alphabet.
std::string letters_text(std::mt19937& random, std::size_t size, unsigned letters) {
  std::string text(size, 'a');
  for (char& c : text) c = static_cast<char>('a' + random() % letters);
  return text;
}

/// Cuts the plain way: one token after the other, longest first, in what is left of the text.
std::vector<std::array<std::size_t, 3>> cut_plainly(const std::vector<std::string>& tokens,
                                                    const std::vector<text::TokenType>& types, const std::string& text,
                                                    const text::detail::SpecialTokens::Rules& rules) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (rules.parse_special || types[i] == text::TokenType::user_defined) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tokens[a].size() != tokens[b].size() ? tokens[a].size() > tokens[b].size() : a < b;
  });
  constexpr std::size_t kPlain = ~std::size_t{0};
  std::vector<std::size_t> owner(text.size(), kPlain), begin(text.size(), 0);
  for (const std::size_t token : order)
    for (std::size_t at = 0; at + tokens[token].size() <= text.size(); ++at) {
      bool here = text.compare(at, tokens[token].size(), tokens[token]) == 0;
      for (std::size_t i = at; here && i < at + tokens[token].size() && !rules.given.empty(); ++i)
        here = types[token] == text::TokenType::user_defined || !rules.given[i];
      for (std::size_t i = 0; here && i < tokens[token].size(); ++i) here = owner[at + i] == kPlain;
      for (std::size_t i = 0; here && i < tokens[token].size(); ++i) owner[at + i] = token, begin[at + i] = at;
    }
  std::vector<std::array<std::size_t, 3>> out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool starts = at == 0 || owner[at] != owner[at - 1] || (owner[at] != kPlain && begin[at] == at);
    if (starts) out.push_back({at, at, owner[at]});
    out.back()[1] = at + 1;
  }
  return out;
}

TEST(SpecialTokens, AreCutOutAsThePlainWayDoes) {
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    const auto alphabet = static_cast<unsigned>(1 + random() % 3);
    std::vector<std::string> texts;
    std::vector<text::TokenType> types;
    for (auto i = static_cast<std::size_t>(1 + random() % 12); i > 0; --i) {
      texts.push_back(letters_text(random, 1 + random() % 5, alphabet));
      types.push_back(random() % 2 == 0 ? text::TokenType::control : text::TokenType::user_defined);
    }
    const std::vector<std::string_view> tokens(texts.begin(), texts.end());
    text::detail::SpecialTokens special{zrt::system_allocator()};
    ASSERT_TRUE(special.build(
        tokens, [&](std::size_t id) { return types[id]; },
        [&](std::size_t id) { return types[id] == text::TokenType::control; }));
    const std::string input = letters_text(random, random() % 40, alphabet + 1);
    bool marks[40];
    for (bool& mark : marks) mark = random() % 8 == 0;
    const zrt::Span<const bool> given(marks, input.size());
    for (const auto& rules :
         {text::detail::SpecialTokens::Rules{false, {}}, {true, {}}, {false, given}, {true, given}}) {
      zrt::Vector<text::detail::TextPart> cut;
      ASSERT_TRUE(special.split(input, rules, cut));
      std::vector<std::array<std::size_t, 3>> found;
      for (const auto& f : cut)
        found.push_back(
            {f.begin, f.end, f.token == text::detail::kNoToken ? ~std::size_t{0} : static_cast<std::size_t>(f.token)});
      ASSERT_EQ(found, cut_plainly(texts, types, input, rules)) << input;
    }
  }
}

TEST(SpecialTokens, ManyOfThemTakeAlmostLinearTime) {
  std::vector<std::string> texts;
  for (char a = 'a'; a <= 'z'; ++a)
    for (char b = 'a'; b <= 'z'; ++b)
      for (char c = 'a'; c <= 'z'; ++c) texts.push_back({a, b, c});
  const std::vector<std::string_view> tokens(texts.begin(), texts.end());
  text::detail::SpecialTokens special{zrt::system_allocator()};
  ASSERT_TRUE(special.build(
      tokens, [](std::size_t) { return text::TokenType::user_defined; }, [](std::size_t) { return false; }));
  std::mt19937 random(12);
  const std::string input = letters_text(random, 200000, 26);
  zrt::Vector<text::detail::TextPart> cut;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(special.split(input, {false, {}}, cut));
  // Each token walking over all fragments would be minutes; this bound holds under sanitizers too.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_GT(cut.size(), 60000u);
}

/// Merges the plain way: look at all neighbours, merge the best pair, begin again.
Ids merge_plainly(const SmallVocabulary& v, std::vector<std::string> symbols) {
  const auto id_of = [&](const std::string& s) {
    for (std::size_t id = v.tokens.size(); id-- > 0;)
      if (v.tokens[id] == s) return static_cast<std::int32_t>(id);
    return -1;
  };
  const auto rank = [&](const std::string& a, const std::string& b) -> std::optional<float> {
    if (v.spec.model == "llama") {
      const std::int32_t id = id_of(a + b);
      return id < 0 ? std::nullopt : std::optional(-v.scores[static_cast<std::size_t>(id)]);
    }
    for (std::size_t i = 0; i < v.merges.size(); ++i)
      if (v.merges[i] == a + ' ' + b) return static_cast<float>(i);
    return std::nullopt;
  };
  for (;;) {
    std::size_t best = symbols.size();
    std::optional<float> best_rank;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto r = rank(symbols[i], symbols[i + 1]);
      if (r && (!best_rank || *r < *best_rank)) {
        best_rank = r;
        best = i;
      }
    }
    if (!best_rank) break;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  Ids ids;
  for (const auto& s : symbols) ids.push_back(id_of(s));
  return ids;
}

TEST(Tokenizer, MergesAsThePlainWayDoes) {
  const SmallSentencePiece pieces_vocabulary;
  const SmallByteBpe bytes_vocabulary;
  const auto sentence_piece = make(pieces_vocabulary);
  const auto byte_bpe = make(bytes_vocabulary);
  std::uint32_t seed = 11;
  const auto next = [&](std::uint32_t below) { return ((seed = seed * 1664525u + 1013904223u) >> 16) % below; };
  for (int round = 0; round < 3000; ++round) {
    std::string word;
    const std::string_view alphabet = "helowrda";
    for (std::uint32_t i = 0, n = 1 + next(24); i < n; ++i) word += alphabet[next(8)];
    std::vector<std::string> letters;
    for (const char c : word) letters.emplace_back(1, c);
    EXPECT_EQ(encode(byte_bpe, word), merge_plainly(bytes_vocabulary, letters)) << word;
    letters.insert(letters.begin(), kMark);
    EXPECT_EQ(encode(sentence_piece, word), merge_plainly(pieces_vocabulary, letters)) << word;
  }
}

TEST(Tokenizer, RandomBytesComeBack) {
  const SmallSentencePiece pieces_vocabulary;
  const SmallByteBpe bytes_vocabulary, llama3("llama-bpe"), deepseek("deepseek-llm");
  const text::Tokenizer all[] = {make(pieces_vocabulary), make(bytes_vocabulary), make(llama3), make(deepseek)};
  std::uint32_t seed = 5;
  const auto next = [&] { return (seed = seed * 1664525u + 1013904223u) >> 24; };
  for (int round = 0; round < 3000; ++round) {
    std::string input;
    for (std::uint32_t i = 0, n = next() % 40; i < n; ++i)
      input += round % 2 == 0 ? static_cast<char>(next()) : "hello aa<tool>x 12\n"[next() % 19];
    for (const auto& t : all)
      for (const bool parse : {false, true})
        EXPECT_EQ(decode(t, encode(t, input, {.parse_special = parse}), {.special = true, .clean_spaces = false}),
                  input);
  }
}

std::string stream(text::Detokenizer d, const Ids& ids) {
  std::string out;
  for (const std::int32_t id : ids) out += d.feed(id).value();
  return out += d.finish().value();
}

TEST(Detokenizer, HoldsUnfinishedCharactersBack) {
  const SmallSentencePiece vocabulary;
  const auto t = make(vocabulary);
  const auto byte = [](int b) { return 3 + b; };
  text::Detokenizer d(t);
  EXPECT_EQ(d.feed(byte(0xf0)).value(), "");
  EXPECT_EQ(d.feed(byte(0x9f)).value(), "");
  EXPECT_EQ(d.feed(byte(0x98)).value(), "");
  EXPECT_EQ(d.feed(byte(0x80)).value(), "\xf0\x9f\x98\x80");
  EXPECT_EQ(d.feed(byte(0xe6)).value(), "");
  EXPECT_EQ(d.feed(*t.find_token("a")).value(),
            "\xef\xbf\xbd"
            "a");
  EXPECT_EQ(d.feed(byte(0xff)).value(), "\xef\xbf\xbd");
  EXPECT_EQ(d.feed(byte(0xed)).value(), "");
  EXPECT_EQ(d.feed(byte(0xa0)).value(), "\xef\xbf\xbd\xef\xbf\xbd");  // half of a surrogate pair
  EXPECT_EQ(d.feed(byte(0xe6)).value(), "");
  EXPECT_EQ(d.feed(byte(0x97)).value(), "");
  EXPECT_EQ(d.finish().value(), "\xef\xbf\xbd");
  EXPECT_EQ(d.finish().value(), "");
}

TEST(Detokenizer, BeginningAndSpecialTokens) {
  const SmallSentencePiece vocabulary;
  const auto t = make(vocabulary);
  const Ids ids = encode(t, "hello world");
  EXPECT_EQ(stream(text::Detokenizer(t), ids), " hello world");
  EXPECT_EQ(stream({t, {.at_start = true}}, ids), "hello world");
  EXPECT_EQ(stream(text::Detokenizer(t), {1, 2}), "");
  EXPECT_EQ(stream({t, {.special = true}}, {1, 2}), "<s></s>");
  text::Detokenizer d(t);
  EXPECT_EQ(d.feed(3 + 0xe6).value(), "");
  EXPECT_EQ(d.feed(-5).error().code(), Errc::invalid_argument);
  EXPECT_EQ(d.feed(3 + 0x97).value(), "");
  EXPECT_EQ(d.feed(3 + 0xa5).value(), "\xe6\x97\xa5");
}

TEST(Detokenizer, StreamIsValidAndComplete) {
  const SmallSentencePiece pieces_vocabulary;
  const SmallByteBpe bytes_vocabulary;
  std::uint32_t seed = 9;
  for (const auto& t : {make(pieces_vocabulary), make(bytes_vocabulary)}) {
    for (int round = 0; round < 3000; ++round) {
      Ids ids;
      for (int i = 0; i < 20; ++i)
        ids.push_back(static_cast<std::int32_t>(((seed = seed * 1664525u + 1013904223u) >> 8) % t.vocab_size()));
      const std::string out = stream(text::Detokenizer(t), ids);
      for (std::size_t at = 0; at < out.size();) {
        const auto unit = text::detail::decode(out, at);
        ASSERT_TRUE(unit.valid);
        at += unit.length;
      }
      const std::string whole = decode(t, ids, {.at_start = false, .clean_spaces = false});
      bool valid = true;
      for (std::size_t at = 0; at < whole.size(); at += text::detail::decode(whole, at).length)
        valid = valid && text::detail::decode(whole, at).valid;
      if (valid) {
        EXPECT_EQ(out, whole);
      }
    }
  }
}

/// Fails the allocation after `left` good ones, and counts what is not given back.
struct FailingMemory {
  int left = 0;
  int held = 0;

  zrt::Allocator allocator() {
    return {this,
            [](void* context, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              auto* self = static_cast<FailingMemory*>(context);
              if (self->left-- <= 0) return nullptr;
              ++self->held;
              const auto system = zrt::system_allocator();
              return system.allocate(system.context, bytes, alignment);
            },
            [](void* context, void* memory, std::size_t, std::size_t) noexcept {
              --static_cast<FailingMemory*>(context)->held;
              std::free(memory);
            }};
  }
};

template <class Work> int count_failures(const Work& work) {
  for (int n = 0;; ++n) {
    FailingMemory memory{.left = n};
    const Errc code = work(memory);
    EXPECT_EQ(memory.held, 0) << "after " << n << " allocations";
    if (code == Errc::ok) return n;
    EXPECT_EQ(code, Errc::out_of_memory) << "after " << n << " allocations";
    if (n > 1000) return n;
  }
}

TEST(Tokenizer, EveryAllocationMayFail) {
  const SmallSentencePiece pieces_vocabulary;
  const SmallByteBpe bytes_vocabulary, llama3("llama-bpe");
  const SmallWordPiece words_vocabulary;
  const SmallUnigram unigram_vocabulary;
  for (const SmallVocabulary* vocabulary :
       {static_cast<const SmallVocabulary*>(&words_vocabulary),
        static_cast<const SmallVocabulary*>(&unigram_vocabulary),
        static_cast<const SmallVocabulary*>(&pieces_vocabulary), static_cast<const SmallVocabulary*>(&bytes_vocabulary),
        static_cast<const SmallVocabulary*>(&llama3)}) {
    const int failures = count_failures([&](FailingMemory& memory) {
      auto t = text::Tokenizer::make(vocabulary->spec, memory.allocator());
      if (!t) return t.error().code();
      auto ids = t->encode("hello <tool> \xe6\x97\xa5 world aaaaaaaaaaaaaaaaaaaa<s>",
                           {.add_special = true, .parse_special = true});
      if (!ids) return ids.error().code();
      auto whole = t->decode(ids->span(), {.special = true});
      if (!whole) return whole.error().code();
      text::Detokenizer d(*t);
      for (const std::int32_t id : *ids)
        if (auto fed = d.feed(id); !fed) return fed.error().code();
      auto rest = d.finish();
      return rest ? Errc::ok : rest.error().code();
    });
    EXPECT_GT(failures, 10);
  }
}

/// Texts whose search begins in the first eighth of a table for `count` of them, under the first `ways` ways to
/// spread it.
std::vector<std::string> colliding(std::size_t count, std::uint64_t ways) {
  const std::size_t slots = text::detail::table_slots(count);
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; texts.size() < count; ++i) {
    std::string candidate = std::to_string(i);
    bool collides = true;
    for (std::uint64_t way = 0; way < ways && collides; ++way)
      collides = (text::detail::spread(zrt::hash_bytes(candidate), way) & (slots - 1)) < slots / 8;
    if (collides) texts.push_back(std::move(candidate));
  }
  return texts;
}

TEST(TextIndex, TextsThatShareTheirPlacesAreSpreadInAnotherWay) {
  const auto texts = colliding(4096, 1);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  text::detail::TextIndex index(zrt::system_allocator());
  ASSERT_TRUE(index.build(views));
  for (std::size_t i = 0; i < views.size(); ++i) ASSERT_EQ(index.find(views[i]), static_cast<std::int32_t>(i));
  EXPECT_EQ(index.find("no number"), text::detail::kNoToken);
}

TEST(TextIndex, TextsThatShareTheirPlacesInEveryWayAreRefused) {
  const auto texts = colliding(256, text::detail::kWaysToSpread);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  text::detail::TextIndex index(zrt::system_allocator());
  const auto built = index.build(views);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code(), Errc::limit_exceeded) << built.error().text();
}

TEST(Detokenizer, AFailedFeedChangesNothing) {
  const SmallSentencePiece vocabulary;
  FailingMemory memory{.left = 1000};
  {
    auto t = text::Tokenizer::make(vocabulary.spec, memory.allocator()).value();
    text::Detokenizer d(t);
    EXPECT_EQ(d.feed(3 + 0xe6).value(), "");
    const std::int32_t hello = *t.find_token("hello");
    memory.left = 0;
    EXPECT_EQ(d.feed(hello).error().code(), Errc::out_of_memory);
    memory.left = 1000;
    EXPECT_EQ(d.feed(3 + 0x97).value(), "");
    EXPECT_EQ(d.feed(3 + 0xa5).value(), "\xe6\x97\xa5");
  }
  EXPECT_EQ(memory.held, 0);
}

}  // namespace
}  // namespace tokenizer_test
